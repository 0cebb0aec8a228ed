;; A handler that the payload tells how to behave. Its first byte is the face. What the guest finds out it
;; says as the reason of a dead letter.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "header" (func $header (param i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "meta" (func $meta (param i32 i32) (result i32)))
  (import "inbox_v1" "attempt" (func $attempt (result i32)))
  (import "inbox_v1" "retry_after" (func $retry_after (param i64) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "inbox_v1" "config" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "random" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 16) "tracehellobecause")
  (global $calls (mut i32) (i32.const 0))

  ;; The instance's own name, eight letters, at 96.
  (func (export "inbox_init") (result i32) (local $i i32)
    (drop (call $random_get (i32.const 96) (i32.const 8)))
    (loop $more
      (i32.store8 (i32.add (i32.const 96) (local.get $i))
        (i32.add (i32.const 0x61) (i32.and (i32.load8_u (i32.add (i32.const 96) (local.get $i))) (i32.const 15))))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    (i32.const 0))

  (func $is (param $face i32) (result i32) (i32.eq (i32.load8_u (i32.const 1024)) (local.get $face)))

  ;; Says what lies at 2048 and gives the row up.
  (func $tell (param $length i32) (result i32)
    (drop (call $reason (i32.const 2048) (local.get $length)))
    (i32.const 4))

  ;; Calls the function of that number with memory that is not there, and answers what it does.
  (func $wild (param $function i32) (result i32)
    (if (i32.eq (local.get $function) (i32.const 0x30)) (then (return (call $payload (i32.const 0xfffffff0) (i32.const 0x20)))))
    (if (i32.eq (local.get $function) (i32.const 0x31)) (then (return (call $header (i32.const 0xfffffff0) (i32.const 0x20) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $function) (i32.const 0x32)) (then (return (call $header (i32.const 16) (i32.const 5) (i32.const 0xfffffff0) (i32.const 0x20)))))
    (if (i32.eq (local.get $function) (i32.const 0x33)) (then (return (call $meta (i32.const 0xfffffff0) (i32.const 0x20)))))
    (if (i32.eq (local.get $function) (i32.const 0x34)) (then (return (call $reason (i32.const 0xfffffff0) (i32.const 0x20)))))
    (if (i32.eq (local.get $function) (i32.const 0x35)) (then (return (call $log (i32.const 4) (i32.const 0xfffffff0) (i32.const 0x20)))))
    (if (i32.eq (local.get $function) (i32.const 0x36)) (then (return (call $config (i32.const 0xfffffff0) (i32.const 0x20) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $function) (i32.const 0x37)) (then (return (call $config (i32.const 21) (i32.const 5) (i32.const 0xfffffff0) (i32.const 0x20)))))
    (call $random (i32.const 0xfffffff0) (i32.const 0x20)))

  ;; A sleep of as many nanoseconds.
  (func $sleep (param $ns i64)
    (i64.store (i32.const 256) (i64.const 0))
    (i64.store (i32.const 264) (i64.const 0))
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (local.get $ns))
    (i64.store (i32.const 288) (i64.const 0))
    (i64.store (i32.const 296) (i64.const 0))
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 600))))

  (func (export "inbox_handle") (result i32) (local $n i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (local.set $n (call $payload (i32.const 1024) (i32.const 1024)))
    (if (call $is (i32.const 0x74)) (then unreachable))                                             ;; t: trap
    (if (call $is (i32.const 0x6c)) (then (loop $forever (br $forever))))                           ;; l: loop
    (if (call $is (i32.const 0x37)) (then (return (i32.const 77))))                                 ;; 7
    (if (call $is (i32.const 0x78)) (then (call $proc_exit (i32.const 0))))                         ;; x: exit
    (if (call $is (i32.const 0x77)) (then                                                           ;; w: wild pointer
      (return (i32.add (i32.const 79) (call $wild (i32.load8_u (i32.const 1025)))))))
    (if (call $is (i32.const 0x72)) (then                                                           ;; r: retry, with a reason
      (drop (call $reason (i32.const 26) (i32.const 7))) (return (i32.const 1))))
    (if (call $is (i32.const 0x33)) (then                                                           ;; 3: ack at the third attempt
      (return (i32.lt_s (call $attempt) (i32.const 3)))))
    (if (call $is (i32.const 0x52)) (then (return (i32.const 2))))                                  ;; R: retry_after the backoff
    (if (call $is (i32.const 0x44)) (then                                                           ;; D: retry_after an hour
      (drop (call $retry_after (i64.const 3600000))) (return (i32.const 2))))
    (if (call $is (i32.const 0x64)) (then (return (i32.const 3))))                                  ;; d: drop
    (if (call $is (i32.const 0x6b)) (then                                                           ;; k: dead letter, with a reason
      (drop (call $reason (i32.const 26) (i32.const 7))) (return (i32.const 4))))
    (if (call $is (i32.const 0x53)) (then                                                           ;; S: snooze an hour
      (drop (call $retry_after (i64.const 3600000))) (return (i32.const 5))))
    (if (call $is (i32.const 0x30)) (then                                                           ;; 0: snooze not at all
      (drop (call $retry_after (i64.const 0))) (return (i32.const 5))))
    (if (call $is (i32.const 0x6d)) (then (return (call $tell (call $meta (i32.const 2048) (i32.const 4096))))))              ;; m
    (if (call $is (i32.const 0x68)) (then (return (call $tell (call $header (i32.const 16) (i32.const 5) (i32.const 2048) (i32.const 4096)))))) ;; h
    (if (call $is (i32.const 0x63)) (then (return (call $tell (call $config (i32.const 21) (i32.const 5) (i32.const 2048) (i32.const 4096)))))) ;; c
    (if (call $is (i32.const 0x70)) (then (return (call $tell (call $payload (i32.const 2048) (i32.const 4096))))))           ;; p
    (if (call $is (i32.const 0x61)) (then                                                           ;; a: the attempt, as a digit
      (i32.store8 (i32.const 2048) (i32.add (i32.const 0x30) (call $attempt)))
      (return (call $tell (i32.const 1)))))
    (if (call $is (i32.const 0x69)) (then                                                           ;; i: log the instance and its calls
      (i64.store (i32.const 2048) (i64.load (i32.const 96)))
      (i32.store16 (i32.const 2056) (i32.const 0x203a))
      (i32.store8 (i32.const 2058) (i32.add (i32.const 0x30) (i32.div_u (global.get $calls) (i32.const 10))))
      (i32.store8 (i32.const 2059) (i32.add (i32.const 0x30) (i32.rem_u (global.get $calls) (i32.const 10))))
      (drop (call $log (i32.const 2) (i32.const 2048) (i32.const 12)))
      (call $sleep (i64.const 1000000))))
    (if (call $is (i32.const 0x7a)) (then (call $sleep (i64.const 20000000))))                      ;; z: 20 ms
    (if (call $is (i32.const 0x5a)) (then (call $sleep (i64.const 3600000000000))))                 ;; Z: an hour
    (if (call $is (i32.const 0x67)) (then (drop (memory.grow (i32.const 8)))))                      ;; g: grow by half a MiB
    (i32.const 0)))
