;; Acks a payload that begins with "a", and traps on every other one.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "inbox_handle") (result i32)
    (drop (call $payload (i32.const 0) (i32.const 16)))
    (if (i32.ne (i32.load8_u (i32.const 0)) (i32.const 0x61)) (then unreachable))
    (i32.const 0)))
