//go:build !wasip1

package host

func fake() Functions {
	if Fake == nil {
		panic("inbox: there is no host here: build for GOOS=wasip1 GOARCH=wasm, or test with inboxtest.New")
	}
	return Fake
}

// What follows is described where it is the host's own, in host_wasip1.go.

func Payload(buf []byte) int32              { return fake().Payload(buf) }
func Header(name string, buf []byte) int32  { return fake().Header(name, buf) }
func Meta(buf []byte) int32                 { return fake().Meta(buf) }
func Attempt() int32                        { return fake().Attempt() }
func DeadlineMs() int64                     { return fake().DeadlineMs() }
func SetRetryAfter(ms int64) int32          { return fake().SetRetryAfter(ms) }
func Reason(text string) int32              { return fake().Reason(text) }
func Log(level int32, text string) int32    { return fake().Log(level, text) }
func LogEnabled(level int32) int32          { return fake().LogEnabled(level) }
func Config(key string, buf []byte) int32   { return fake().Config(key, buf) }
func NowMs() int64                          { return fake().NowMs() }
func Random(buf []byte) int32               { return fake().Random(buf) }
func Message(i int32) int32                 { return fake().Message(i) }
func Outcome(code int32) int32              { return fake().Outcome(code) }
func DB(conn int32, sql, args string) int32 { return fake().DB(conn, sql, args) }
func HTTP(request string) int32             { return fake().HTTP(request) }
func Publish(table, message string) int32   { return fake().Publish(table, message) }
func Result(buf []byte) int32               { return fake().Result(buf) }
