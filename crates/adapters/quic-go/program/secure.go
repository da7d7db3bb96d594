package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"time"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

const serverName = "server"

// application is the protocol that connections of rexmit's carry (RFC 9001 section 8.1).
var application = []string{"rexmit"}

// serverTLS is that of every server of a host: one certificate, and tickets that each of them knows.
func (h *host) serverTLS() *tls.Config {
	config := &tls.Config{NextProtos: application}
	if len(h.settings.Key) > 0 {
		key, err := x509.ParsePKCS8PrivateKey(h.settings.Key)
		must(err)
		config.Certificates = []tls.Certificate{{Certificate: [][]byte{h.settings.Certificate}, PrivateKey: key}}
	}
	var tickets [32]byte
	_, err := io.ReadFull(h.run.Random, tickets[:])
	must(err)
	config.SetSessionTicketKeys([][32]byte{tickets})
	return config
}

// clientTLS knows the one certificate, and remembers servers where it may.
func (h *host) clientTLS() *tls.Config {
	config := &tls.Config{
		ServerName:         serverName,
		NextProtos:         application,
		InsecureSkipVerify: true,
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			if len(shown) != 1 || !bytes.Equal(shown[0], h.settings.Certificate) {
				return errors.New("this is not the certificate of rexmit's servers")
			}
			return nil
		},
	}
	if h.settings.ZeroRTT {
		config.ClientSessionCache = h.sessions
	}
	return config
}

// keyLog takes the secrets of a connection, by which captures are decrypted.
type keyLog struct{ line *rs.Line }

// Write implements io.Writer.
func (k keyLog) Write(line []byte) (int, error) {
	k.line.AddSecrets(string(line))
	return len(line), nil
}

func nanoseconds(n int64) time.Duration { return time.Duration(n) }
