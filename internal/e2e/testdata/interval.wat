;; A handler that logs "begin", sleeps for a millisecond, logs "end" and acks: the lines' times lie within
;; the time in which the row is in work.
(module
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "beginend")

  (func (export "inbox_handle") (result i32)
    (drop (call $log (i32.const 2) (i32.const 0) (i32.const 5)))
    (i64.store (i32.const 528) (i64.const 1)) ;; the monotonic clock
    (i64.store (i32.const 536) (i64.const 1000000)) ;; from now, in nanoseconds
    (drop (call $poll_oneoff (i32.const 512) (i32.const 640) (i32.const 1) (i32.const 768)))
    (drop (call $log (i32.const 2) (i32.const 5) (i32.const 3)))
    (i32.const 0)))
