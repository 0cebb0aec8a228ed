;; A handler that refuses to start before a time, the milliseconds since 1970 in its setting "until".
(module
  (import "inbox_v1" "config" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "now_ms" (func $now_ms (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 16) "until")
  (func (export "inbox_init") (result i32) (local $i i32) (local $n i32) (local $until i64)
    (local.set $n (call $config (i32.const 16) (i32.const 5) (i32.const 64) (i32.const 64)))
    (loop $digits
      (local.set $until (i64.add (i64.mul (local.get $until) (i64.const 10))
        (i64.sub (i64.load8_u (i32.add (i32.const 64) (local.get $i))) (i64.const 48))))
      (br_if $digits (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i64.lt_s (call $now_ms) (local.get $until)))
  (func (export "inbox_handle") (result i32) (i32.const 0)))
