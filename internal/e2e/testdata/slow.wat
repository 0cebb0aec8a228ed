;; A handler that does as its payload says. The first byte is what it comes to: the digit of an outcome
;; code, or L to loop for ever. The digits behind it are how many milliseconds it sleeps before that.
;; Each call logs "called", so that calls can be counted from outside.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "called")

  (func $sleep (param $ms i64)
    (i64.store (i32.const 512) (i64.const 0)) ;; user data
    (i64.store (i32.const 520) (i64.const 0)) ;; tag: a clock
    (i64.store (i32.const 528) (i64.const 1)) ;; the monotonic one
    (i64.store (i32.const 536) (i64.mul (local.get $ms) (i64.const 1000000)))
    (i64.store (i32.const 544) (i64.const 0)) ;; precision
    (i64.store (i32.const 552) (i64.const 0)) ;; flags: from now
    (drop (call $poll_oneoff (i32.const 512) (i32.const 640) (i32.const 1) (i32.const 768))))

  (func (export "inbox_handle") (result i32)
    (local $length i32) (local $at i32) (local $ms i64)
    (drop (call $log (i32.const 2) (i32.const 0) (i32.const 6)))
    (local.set $length (call $payload (i32.const 1024) (i32.const 1024)))
    (local.set $at (i32.const 1))
    (block $end
      (loop $digit
        (br_if $end (i32.ge_s (local.get $at) (local.get $length)))
        (local.set $ms (i64.add
          (i64.mul (local.get $ms) (i64.const 10))
          (i64.extend_i32_u (i32.sub (i32.load8_u offset=1024 (local.get $at)) (i32.const 48)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $digit)))
    (if (i64.ne (local.get $ms) (i64.const 0)) (then (call $sleep (local.get $ms))))
    (if (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 76)) ;; L
      (then (loop $for_ever (br $for_ever))))
    (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 48))))
