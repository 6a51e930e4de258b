// Package pki makes the cluster's certificates and kubeconfigs. All keys stay
// below the cluster's state directory, except for the administrator's one that
// the clone's kubeconfig carries.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity outlasts any local cluster; there is no renewal.
const validity = 5 * 365 * 24 * time.Hour

// Subject is whom a certificate is for. Kubernetes reads user and group from
// the common name and the organizations.
type Subject struct {
	Name   string
	User   string
	Groups []string
	// Hosts are the names and addresses a server answers under.
	Hosts []string
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Ensure makes all certificates once. They appear together by a rename, so a
// killed run never leaves a directory in which one fits not to the others.
func Ensure(directory string, subjects []Subject) error {
	if _, err := os.Stat(directory); err == nil {
		return nil
	}
	temporary := directory + ".new"
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("remove unfinished certificates: %w", err)
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return fmt.Errorf("make certificate directory: %w", err)
	}
	if err := makeAll(temporary, subjects); err != nil {
		return err
	}
	return os.Rename(temporary, directory)
}

func makeAll(directory string, subjects []Subject) error {
	ca, err := makeAuthority(directory, "ca", "local cluster")
	if err != nil {
		return err
	}
	// Requests relayed to extension servers are signed by an authority of their
	// own: with the common one any client could pose as the relaying server.
	proxyCA, err := makeAuthority(directory, "front-proxy-ca", "local cluster front proxy")
	if err != nil {
		return err
	}
	if err := proxyCA.issue(directory, Subject{Name: "front-proxy", User: "front-proxy-client"}); err != nil {
		return err
	}
	for _, subject := range subjects {
		if err := ca.issue(directory, subject); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeServiceAccountKey(directory, key)
}

func makeAuthority(directory, name, commonName string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template, err := newTemplate(pkix.Name{CommonName: commonName})
	if err != nil {
		return authority{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return authority{}, fmt.Errorf("sign authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	return authority{certificate, key}, writePair(directory, name, der, key)
}

func (a authority) issue(directory string, subject Subject) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := newTemplate(pkix.Name{CommonName: subject.User, Organization: subject.Groups})
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(subject.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range subject.Hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("sign certificate of %s: %w", subject.Name, err)
	}
	return writePair(directory, subject.Name, der, key)
}

// newTemplate begins an hour ago, so that a clock set back a little does not
// make the whole cluster untrusted.
func newTemplate(name pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: name,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
	}, nil
}

func writePair(directory, name string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(directory, name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(filepath.Join(directory, name+".key"), "EC PRIVATE KEY", private)
}

func writeServiceAccountKey(directory string, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(directory, "service-account.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writePEM(filepath.Join(directory, "service-account.key"), "EC PRIVATE KEY", private)
}

func writePEM(path, kind string, der []byte) error {
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
