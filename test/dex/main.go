// Dex as a program for the tests: its server with users and clients from standard input, and nothing kept on disk.
// Dex's own command cannot be built from the module proxy, because it needs a module of its repository that has no released version.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/session"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
)

type settings struct {
	// Empty: 127.0.0.1 with a free port.
	Address   string             `json:"address"`
	Clients   []storage.Client   `json:"clients"`
	Passwords []storage.Password `json:"passwords"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var given settings
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if given.Address == "" {
		given.Address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", given.Address)
	if err != nil {
		return err
	}
	issuer := "http://" + listener.Addr().String() + "/dex"
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	const idTokensValidFor = 10 * time.Minute

	store := memory.New(logger)
	local := storage.Connector{ID: connectors.LocalConnector, Type: connectors.LocalConnector, Name: "Email"}
	store = storage.WithStaticConnectors(store, []storage.Connector{local})
	store = storage.WithStaticClients(store, given.Clients)
	store = storage.WithStaticPasswords(store, given.Passwords, logger)

	keys := signer.LocalConfig{KeysRotationPeriod: "6h"}
	tokenSigner, err := keys.Open(ctx, store, idTokensValidFor, time.Now, logger)
	if err != nil {
		return err
	}
	refresh, err := tokens.NewRefreshTokenPolicy(logger, false, "", "", "")
	if err != nil {
		return err
	}
	dex, err := server.NewServer(ctx, server.Config{
		Issuer:             issuer,
		Storage:            store,
		SkipApprovalScreen: true,
		IDTokensValidFor:   idTokensValidFor,
		RefreshTokenPolicy: refresh,
		Logger:             logger,
		Signer:             tokenSigner,
		PrometheusRegistry: prometheus.NewRegistry(),
		SessionConfig: &session.Config{
			CookieName:                 "dex_session",
			AbsoluteLifetime:           24 * time.Hour,
			ValidIfNotUsedFor:          time.Hour,
			RememberMeCheckedByDefault: true,
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(issuer)
	return http.Serve(listener, dex)
}
