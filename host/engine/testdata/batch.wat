;; A handler of batches. The first byte of each message's payload says what becomes of it: a digit is set as its
;; outcome, and "." leaves it without one of its own. "=" and a digit is what the call returns. Each call logs
;; how many messages it has.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "message" (func $message (param i32) (result i32)))
  (import "inbox_v1" "outcome" (func $outcome (param i32) (result i32)))
  (import "inbox_v1" "retry_after" (func $retry_after (param i64) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (import "inbox_v1" "attempt" (func $attempt (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "because")
  (data (i32.const 2048) "batch of ??")
  (global $code (mut i32) (i32.const 0))

  (func $is (param $face i32) (result i32) (i32.eq (i32.load8_u (i32.const 0)) (local.get $face)))

  ;; Handles the current message.
  (func $one
    (i64.store (i32.const 0) (i64.const 0))
    (drop (call $payload (i32.const 0) (i32.const 16)))
    (if (call $is (i32.const 0x74)) (then unreachable))                                      ;; t
    (if (call $is (i32.const 0x6c)) (then (loop $forever (br $forever))))                    ;; l
    (if (call $is (i32.const 0x78)) (then (call $proc_exit (i32.const 0))))                  ;; x
    (if (call $is (i32.const 0x3d)) (then                                                    ;; =
      (global.set $code (i32.sub (i32.load8_u (i32.const 1)) (i32.const 0x30)))))
    (if (call $is (i32.const 0x72)) (then                                                    ;; r: a reason and a delay
      (drop (call $reason (i32.const 1024) (i32.const 7)))
      (drop (call $retry_after (i64.const 1500)))))
    (if (call $is (i32.const 0x61)) (then                                                    ;; a: the attempt is the outcome
      (drop (call $outcome (call $attempt)))))
    (if (call $is (i32.const 0x77)) (then                                                    ;; w: wrong arguments
      (if (i32.ne (call $outcome (i32.const 6)) (i32.const -2)) (then unreachable))
      (if (i32.ne (call $outcome (i32.const -1)) (i32.const -2)) (then unreachable))
      (if (i32.ne (call $message (i32.const -1)) (i32.const -2)) (then unreachable))
      (if (i32.ne (call $message (i32.const 10000)) (i32.const -2)) (then unreachable))))
    (if (i32.and (i32.ge_u (i32.load8_u (i32.const 0)) (i32.const 0x30)) (i32.le_u (i32.load8_u (i32.const 0)) (i32.const 0x35)))
      (then (if (call $outcome (i32.sub (i32.load8_u (i32.const 0)) (i32.const 0x30))) (then unreachable)))))

  (func (export "inbox_handle_batch") (param $count i32) (result i32) (local $i i32)
    (global.set $code (i32.const 0))
    (i32.store8 (i32.const 2057) (i32.add (i32.const 0x30) (i32.div_u (local.get $count) (i32.const 10))))
    (i32.store8 (i32.const 2058) (i32.add (i32.const 0x30) (i32.rem_u (local.get $count) (i32.const 10))))
    (drop (call $log (i32.const 2) (i32.const 2048) (i32.const 11)))
    (loop $more
      (if (call $message (local.get $i)) (then unreachable))
      (call $one)
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
    (global.get $code))

  ;; Outside of a batch both functions are refused, whatever they are called with.
  (func (export "inbox_handle") (result i32)
    (i32.add (i32.const 4) (i32.and
      (i32.and (i32.eq (call $message (i32.const 0)) (i32.const -3)) (i32.eq (call $message (i32.const 9)) (i32.const -3)))
      (i32.and (i32.eq (call $outcome (i32.const 0)) (i32.const -3)) (i32.eq (call $outcome (i32.const 9)) (i32.const -3)))))))
