;; A handler that refuses to start, and says why.
(module
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "no api key")
  (func (export "inbox_init") (result i32)
    (drop (call $reason (i32.const 16) (i32.const 10)))
    (i32.const 5))
  (func (export "inbox_handle") (result i32) (i32.const 0)))
