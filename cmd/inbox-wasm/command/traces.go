package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// The variables of the environment that say whether there are traces, by OpenTelemetry's specification. The exporter
// reads the others itself.
const (
	otelDisabled       = "OTEL_SDK_DISABLED"
	otelExporter       = "OTEL_TRACES_EXPORTER"
	otelEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otelTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	otelProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otelTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// protocol is the one that traces are sent by.
const protocol = "http/protobuf"

// flushTraces bounds how long the last spans may take to be sent.
const flushTraces = 5 * time.Second

// traces makes what takes the spans of deliveries, as the environment asks for it, and what sends the last of them. Without
// an endpoint in the environment it is nil, and costs nothing.
func traces(ctx context.Context, log *slog.Logger) (provider trace.TracerProvider, flush func(), err error) {
	none := func() {}
	if !tracesWanted() {
		return nil, none, nil
	}
	if asked := cmp.Or(os.Getenv(otelTracesProtocol), os.Getenv(otelProtocol), protocol); asked != protocol {
		log.Warn("there are no traces: the environment asks for a protocol that is not there", "protocol", asked, "supported", protocol)
		return nil, none, nil
	}
	otel.SetErrorHandler(complain(log))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("send traces as %s says: %w", otelEndpoint, err)
	}
	// What the environment says of the service stands before what is said here.
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("inbox-wasm"), semconv.ServiceVersion(release)),
		resource.WithHost(), resource.WithAttributes(attribute.Int("process.pid", os.Getpid())), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, nil, fmt.Errorf("describe the service to traces as OTEL_RESOURCE_ATTRIBUTES says: %w", err)
	}
	made := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return made, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTraces)
		defer cancel()
		if err := made.Shutdown(ctx); err != nil {
			log.Warn("the last spans were not sent", "error", err)
		}
	}, nil
}

func tracesWanted() bool {
	switch {
	case strings.EqualFold(os.Getenv(otelDisabled), "true"):
		return false
	case os.Getenv(otelExporter) != "" && os.Getenv(otelExporter) != "otlp":
		return false
	}
	return os.Getenv(otelEndpoint) != "" || os.Getenv(otelTracesEndpoint) != ""
}

// complain logs why spans are not sent, once a minute.
func complain(log *slog.Logger) otel.ErrorHandler {
	var mu sync.Mutex
	var last time.Time
	return otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) >= time.Minute {
			last = time.Now()
			log.Warn("traces cannot be sent; spans are dropped", "error", err)
		}
	})
}
