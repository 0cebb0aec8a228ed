;; A handler with many faces: the payload's first byte says how to behave. A digit is returned as an outcome.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "retry_after" (func $retry_after (param i64) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 1024) "because\00 of \ff this")
  (data (i32.const 2048) "one\ntwo\nthree")
  (global $calls (mut i32) (i32.const 0))

  (func $recurse (param i32) (result i32)
    (i32.add (call $recurse (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))

  ;; Call trees without a loop.
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
      (then (local.get 0))
      (else (i32.add
        (call $fib (i32.sub (local.get 0) (i32.const 1)))
        (call $fib (i32.sub (local.get 0) (i32.const 2)))))))

  ;; Ten seconds of sleep: one relative subscription to the monotonic clock.
  (func $sleep
    (i64.store (i32.const 256) (i64.const 0))
    (i64.store (i32.const 264) (i64.const 0))
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (i64.const 10000000000))
    (i64.store (i32.const 288) (i64.const 0))
    (i64.store (i32.const 296) (i64.const 0))
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 600))))

  (func $write (param $fd i32)
    (i32.store (i32.const 128) (i32.const 2048))
    (i32.store (i32.const 132) (i32.const 13))
    (drop (call $fd_write (local.get $fd) (i32.const 128) (i32.const 1) (i32.const 136))))

  ;; Grows until it may not, and answers the pages that it has then.
  (func $grow (result i32)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (memory.size))

  ;; 100,000 lines, and whether the last one was refused for its size.
  (func $flood (result i32) (local $n i32) (local $last i32)
    (loop $more
      (local.set $last (call $log (i32.const 2) (i32.const 1024) (i32.const 7)))
      (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))
    (local.get $last))

  (func (export "inbox_handle") (result i32) (local $face i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (drop (call $payload (i32.const 0) (i32.const 16)))
    (local.set $face (i32.load8_u (i32.const 0)))
    (if (i32.eq (local.get $face) (i32.const 0x74)) (then unreachable))                              ;; t
    (if (i32.eq (local.get $face) (i32.const 0x65)) (then                                            ;; e
      (drop (call $reason (i32.const 1024) (i32.const 18))) unreachable))
    (if (i32.eq (local.get $face) (i32.const 0x6c)) (then (loop $forever (br $forever))))            ;; l
    (if (i32.eq (local.get $face) (i32.const 0x78)) (then (call $proc_exit (i32.const 0))))          ;; x
    (if (i32.eq (local.get $face) (i32.const 0x79)) (then (call $proc_exit (i32.const 3))))          ;; y
    (if (i32.eq (local.get $face) (i32.const 0x7a)) (then (call $proc_exit (i32.const 0xefffffff)))) ;; z
    (if (i32.eq (local.get $face) (i32.const 0x37)) (then                                            ;; 7
      (drop (call $reason (i32.const 1024) (i32.const 7))) (return (i32.const 77))))
    (if (i32.eq (local.get $face) (i32.const 0x72)) (then (drop (call $recurse (i32.const 0)))))     ;; r
    (if (i32.eq (local.get $face) (i32.const 0x66)) (then (drop (call $fib (i32.const 36)))))        ;; f
    (if (i32.eq (local.get $face) (i32.const 0x73)) (then (call $sleep) (return (i32.const 0))))     ;; s
    (if (i32.eq (local.get $face) (i32.const 0x6f)) (then                                            ;; o
      (call $write (i32.const 1)) (call $write (i32.const 2)) (return (i32.const 0))))
    (if (i32.eq (local.get $face) (i32.const 0x67)) (then                                            ;; g
      (i32.store (i32.const 4096) (call $grow)) (return (i32.const 0))))
    (if (i32.eq (local.get $face) (i32.const 0x68)) (then                                            ;; h
      (drop (call $grow)) unreachable))
    (if (i32.eq (local.get $face) (i32.const 0x4c)) (then                                            ;; L
      (i32.store (i32.const 4096) (call $flood)) (return (i32.const 0))))
    (if (i32.eq (local.get $face) (i32.const 0x6d)) (then                                            ;; m
      (drop (i32.load (i32.const -1)))))
    (if (i32.eq (local.get $face) (i32.const 0x70)) (then                                            ;; p
      (drop (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 0x10000000) (i32.const 0)))
      (return (i32.const 0))))
    (if (i32.eq (local.get $face) (i32.const 0x64)) (then                                            ;; d
      (drop (call $reason (i32.const 1024) (i32.const 18)))
      (drop (call $retry_after (i64.const 1500)))
      (return (i32.load8_u (i32.const 1)))))
    (if (i32.eq (local.get $face) (i32.const 0x23)) (then                                            ;; #
      (drop (call $random_get (i32.const 4096) (i32.const 16)))
      (i32.store (i32.const 4112) (global.get $calls))
      (return (i32.const 0))))
    (i32.sub (local.get $face) (i32.const 0x30))))
