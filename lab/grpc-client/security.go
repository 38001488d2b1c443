package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// securityOf trusts one certificate and no other: a provider's is its own, and the chain vouches for it, not an authority.
func securityOf(trust, certificate, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	text, err := os.ReadFile(trust)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no certificate", trust)
	}
	config.VerifyPeerCertificate = func(shown [][]byte, _ [][]*x509.Certificate) error {
		if len(shown) != 1 || !bytes.Equal(shown[0], block.Bytes) {
			return errors.New("the server shows another certificate")
		}
		return nil
	}
	if certificate == "" {
		return config, nil
	}
	own, err := tls.LoadX509KeyPair(certificate, key)
	config.Certificates = []tls.Certificate{own}
	return config, err
}
