(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1024)
  (table $table 1000 funcref)
  (data (i32.const 8192) "\04\30\00\00\40\00\00\00") ;; an iovec
  (func $tree (param i32) (result i64)
    (if (result i64) (i32.eqz (local.get 0))
      (then (i64.const 1))
      (else (i64.add (call $tree (i32.sub (local.get 0) (i32.const 1))) (call $tree (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "inbox_handle") (result i32) (local $at i32)
    (drop (call $payload (i32.const 0) (i32.const 64)))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x6c)) ;; l: a tight loop
      (then (loop (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x70)) ;; p: reads all over the memory, each after the last
      (then (loop
        (local.set $at (i32.add (i32.load (i32.and (local.get $at) (i32.const 0x3fffffc)))
          (i32.add (i32.mul (local.get $at) (i32.const 1664525)) (i32.const 1013904223))))
        (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x63)) ;; c: a tree of calls
      (then (drop (call $tree (i32.const 60)))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x66)) ;; f: a large fill, again and again
      (then (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 0x4000000)) (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x6d)) ;; m: a large copy, again and again
      (then (loop (memory.copy (i32.const 0) (i32.const 1) (i32.const 0x3ffffff)) (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x74)) ;; t: table operations
      (then (loop (table.fill $table (i32.const 0) (ref.null func) (i32.const 1000)) (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x68)) ;; h: host functions
      (then (loop (drop (call $log (i32.const 4) (i32.const 0) (i32.const 64))) (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x77)) ;; w: writes
      (then (loop (drop (call $fd_write (i32.const 1) (i32.const 8192) (i32.const 1) (i32.const 8200))) (br 0))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x73)) ;; s: a sleep of an hour
      (then
        (i64.store (i32.const 4096) (i64.const 0))
        (i64.store (i32.const 4104) (i64.const 0))  ;; tag: clock
        (i32.store (i32.const 4112) (i32.const 1))  ;; monotonic
        (i64.store (i32.const 4120) (i64.const 3600000000000))
        (i64.store (i32.const 4128) (i64.const 0))
        (i64.store (i32.const 4136) (i64.const 0))
        (drop (call $poll (i32.const 4096) (i32.const 5000) (i32.const 1) (i32.const 5100)))))
    (i32.const 0))
)
