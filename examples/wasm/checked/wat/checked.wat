;; A program, in a language without an SDK, as a handler in command mode: it takes a row whose payload looks like a JSON
;; object, and says of any other what is wrong with it.
;;
;;     wat2wasm checked.wat -o checked.wasm
;;
;; The payload is the standard input. Exit code 0 acks, 65 is a dead letter, and the standard error is the reason.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  ;; Where the buffers are, and how long: one for reading, at 1024, and one for writing.
  (data (i32.const 0) "\00\04\00\00\00\10\00\00")
  (data (i32.const 64) "the payload is empty\n")
  (data (i32.const 128) "the payload is no object\n")

  (func $refuse (param $text i32) (param $length i32)
    (i32.store (i32.const 16) (local.get $text))
    (i32.store (i32.const 20) (local.get $length))
    (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 32)))
    (call $proc_exit (i32.const 65)))

  (func (export "_start")
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
    (if (i32.eqz (i32.load (i32.const 32))) (then (call $refuse (i32.const 64) (i32.const 21))))
    (if (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 0x7b)) (then (call $refuse (i32.const 128) (i32.const 25))))))
