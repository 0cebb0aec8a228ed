(module
  (memory (export "memory") 1)
  (func (export "inbox_handle") (result i32) (i32.const 0)))
