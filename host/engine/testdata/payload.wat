;; Copies the payload into memory, as every SDK does first.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "inbox_handle") (result i32)
    (i32.eqz (call $payload (i32.const 0) (i32.const 65536)))))
