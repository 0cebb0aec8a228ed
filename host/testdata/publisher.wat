;; It writes its payload into the table plain, and returns an outcome for what the host answers.
(module
	(import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
	(import "inbox_v1" "publish" (func $publish (param i32 i32 i32 i32) (result i32)))
	(memory (export "memory") 1)
	(data (i32.const 0) "plain")
	(func (export "inbox_handle") (result i32) (local $r i32)
		(local.set $r (call $publish (i32.const 0) (i32.const 5) (i32.const 1024) (call $payload (i32.const 1024) (i32.const 8192))))
		(if (i32.eqz (local.get $r)) (then
			(if (i32.eq (i32.load8_u (i32.const 1036)) (i32.const 0x74)) (then unreachable)) ;; {"payload":"t..: a trap
			(return (i32.const 0))))
		(if (i32.eq (local.get $r) (i32.const -2)) (then (return (i32.const 4)))) ;; bad argument: dead_letter
		(if (i32.eq (local.get $r) (i32.const -3)) (then (return (i32.const 3)))) ;; not allowed: drop
		(if (i32.eq (local.get $r) (i32.const -6)) (then (return (i32.const 5)))) ;; too many: snooze
		unreachable))
