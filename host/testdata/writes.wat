;; A handler that writes in its delivery's transaction. Its payload is a face and statements: "a" and
;; "INSERT ..~[1]|SELECT ..", each with the JSON of its arguments behind a ~ where it has some. It runs them all,
;; whatever comes of them, and then does what its face says. A statement behind a ^ runs on the thread's own pool,
;; and the statement "!" is a pause.
(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "db" (func $db (param i32 i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "result" (func $result (param i32 i32) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (import "inbox_v1" "retry_after" (func $retry_after (param i64) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 4)

  (func $is (param $face i32) (result i32) (i32.eq (i32.load8_u (i32.const 1024)) (local.get $face)))

  (func $sleep (param $ns i64)
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (local.get $ns))
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 600))))

  ;; Runs the statement at [from, to). A failure leaves "-4 " and the result as the reason, an answer itself.
  (func $run (param $from i32) (param $to i32) (local $args i32) (local $end i32) (local $r i32) (local $n i32) (local $conn i32)
    (if (i32.eq (i32.load8_u (local.get $from)) (i32.const 0x21)) (then (call $sleep (i64.const 700000000)) (return)))
    (local.set $conn (i32.ne (i32.load8_u (local.get $from)) (i32.const 0x5e)))
    (local.set $from (i32.add (local.get $from) (i32.eqz (local.get $conn))))
    (local.set $args (local.get $from))
    (block $found
      (loop $more
        (br_if $found (i32.ge_u (local.get $args) (local.get $to)))
        (br_if $found (i32.eq (i32.load8_u (local.get $args)) (i32.const 0x7e)))
        (local.set $args (i32.add (local.get $args) (i32.const 1)))
        (br $more)))
    (local.set $end (local.get $args))
    (if (i32.lt_u (local.get $args) (local.get $to)) (then (local.set $args (i32.add (local.get $args) (i32.const 1)))))
    (local.set $r (call $db (local.get $conn) (local.get $from) (i32.sub (local.get $end) (local.get $from))
      (local.get $args) (i32.sub (local.get $to) (local.get $args))))
    (local.set $n (call $result (i32.const 65539) (i32.const 65536)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then (local.set $n (i32.const 0))))
    (if (i32.lt_s (local.get $r) (i32.const 0))
      (then
        (i32.store8 (i32.const 65536) (i32.const 0x2d))
        (i32.store8 (i32.const 65537) (i32.sub (i32.const 0x30) (local.get $r)))
        (i32.store8 (i32.const 65538) (i32.const 0x20))
        (drop (call $reason (i32.const 65536) (i32.add (local.get $n) (i32.const 3)))))
      (else (drop (call $reason (i32.const 65539) (local.get $n))))))

  (func (export "inbox_handle") (result i32) (local $from i32) (local $at i32) (local $end i32)
    (local.set $end (i32.add (i32.const 1024) (call $payload (i32.const 1024) (i32.const 16384))))
    (local.set $at (i32.const 1025))
    (local.set $from (i32.const 1025))
    (block $done
      (loop $more
        (if (i32.or (i32.ge_u (local.get $at) (local.get $end)) (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x7c)))
          (then
            (call $run (local.get $from) (local.get $at))
            (local.set $from (i32.add (local.get $at) (i32.const 1)))))
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $more)))
    (if (call $is (i32.const 0x74)) (then unreachable))                             ;; t: trap
    (if (call $is (i32.const 0x6c)) (then (loop $forever (br $forever))))           ;; l: loop
    (if (call $is (i32.const 0x78)) (then (call $proc_exit (i32.const 0))))         ;; x: exit
    (if (call $is (i32.const 0x37)) (then (return (i32.const 77))))                 ;; 7: no outcome
    (if (call $is (i32.const 0x72)) (then (return (i32.const 1))))                  ;; r: retry
    (if (call $is (i32.const 0x52)) (then                                           ;; R: retry_after an hour
      (drop (call $retry_after (i64.const 3600000))) (return (i32.const 2))))
    (if (call $is (i32.const 0x53)) (then                                           ;; S: snooze an hour
      (drop (call $retry_after (i64.const 3600000))) (return (i32.const 5))))
    (if (call $is (i32.const 0x64)) (then (return (i32.const 3))))                  ;; d: drop
    (if (call $is (i32.const 0x6b)) (then (return (i32.const 4))))                  ;; k: dead letter
    (if (call $is (i32.const 0x73)) (then (call $sleep (i64.const 2500000000))))    ;; s: sleep, then ack
    (i32.const 0)))
