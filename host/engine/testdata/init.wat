;; Starts as its setting "start" says. _initialize must have come before inbox_init (golang/go#71240).
(module
  (import "inbox_v1" "config" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 512) "startno database")
  (global $initialized (mut i32) (i32.const 0))
  (func $face (result i32)
    (i32.store8 (i32.const 0) (i32.const 0))
    (drop (call $config (i32.const 512) (i32.const 5) (i32.const 0) (i32.const 8)))
    (i32.load8_u (i32.const 0)))
  (func (export "_initialize")
    (if (i32.eq (call $face) (i32.const 0x58)) (then (call $proc_exit (i32.const 0))))    ;; X
    (if (i32.eq (call $face) (i32.const 0x54)) (then unreachable))                        ;; T
    (if (i32.eq (call $face) (i32.const 0x4c)) (then (loop $forever (br $forever))))      ;; L
    (global.set $initialized (i32.const 1)))
  (func (export "inbox_init") (result i32)
    (if (i32.eqz (global.get $initialized)) (then (return (i32.const 99))))
    (if (i32.eq (call $face) (i32.const 0x72)) (then                                      ;; r
      (drop (call $reason (i32.const 517) (i32.const 11))) (return (i32.const 5))))
    (if (i32.eq (call $face) (i32.const 0x78)) (then (call $proc_exit (i32.const 0))))    ;; x
    (if (i32.eq (call $face) (i32.const 0x74)) (then unreachable))                        ;; t
    (if (i32.eq (call $face) (i32.const 0x6c)) (then (loop $forever (br $forever))))      ;; l
    (i32.const 0))
  (func (export "inbox_handle") (result i32)
    (i32.sub (i32.const 1) (global.get $initialized))))
