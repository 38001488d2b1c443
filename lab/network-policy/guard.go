package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	v1 "k8s.io/api/core/v1"
)

const (
	// The longest IPv4 header and the ports behind it.
	headerBytes = 60 + 4
	// Connections that begin at the same instant; what the kernel cannot queue it drops, and senders try again.
	queueLength = 1024
	// A pod runs a moment before the API server tells its address, on a busy machine a second or two.
	addressWithin = 5 * time.Second
	addressRetry  = 20 * time.Millisecond
)

// Takes first packets from the kernel and gives a verdict on each.
type guard struct {
	judge
	addresses        addressRange
	allowed, refused atomic.Int64
}

// What arrives on the channel ends the program: a guard that sees nothing should not look alive.
func (g *guard) listen(number uint16) (chan error, error) {
	queue, err := nfqueue.Open(&nfqueue.Config{
		NfQueue:      number,
		MaxQueueLen:  queueLength,
		MaxPacketLen: headerBytes,
		Copymode:     nfqueue.NfQnlCopyPacket,
		// Packets that the network card would cut up arrive whole; only their headers are looked at.
		Flags:        nfqueue.NfQaCfgFlagGSO,
		AfFamily:     syscall.AF_INET,
		WriteTimeout: time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the kernel's queue: %w", err)
	}
	failed := make(chan error, 2)
	decide := func(packet nfqueue.Attribute) int {
		id, payload := *packet.PacketID, *packet.Payload
		// On its own, because it may have to wait for an address while others need not.
		go func() {
			if err := queue.SetVerdict(id, g.verdict(payload)); err != nil {
				failed <- fmt.Errorf("answering the kernel: %w", err)
			}
		}()
		return 0
	}
	giveUp := func(err error) int {
		// More packets than fitted: their senders try again. Or a verdict on a packet that went with its pod's cable.
		if errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOENT) {
			return 0
		}
		failed <- fmt.Errorf("reading from the kernel's queue: %w", err)
		return 1
	}
	if err := queue.RegisterWithErrorFunc(context.Background(), decide, giveUp); err != nil {
		return nil, fmt.Errorf("listening on the kernel's queue %d: %w", number, err)
	}
	return failed, nil
}

func (g *guard) verdict(packet []byte) int {
	connection, err := firstPacket(packet)
	var refusal string
	if err != nil {
		refusal = err.Error()
	} else if stranger, found := g.stranger(connection); found {
		refusal = fmt.Sprintf("no pod is known to have %s", stranger)
	} else {
		refusal = g.refusal(connection)
	}
	if refusal == "" {
		g.allowed.Add(1)
		return nfqueue.NfAccept
	}
	g.refused.Add(1)
	log.Printf("refused %s → %s:%d %s: %s", connection.source, connection.destination, connection.port, connection.protocol, refusal)
	return nfqueue.NfDrop
}

// An end of the connection that has a pod's address but is no pod we know of, also not after a while. To let it pass
// would let every pod pass in its first moments, whatever its policies say.
func (g *guard) stranger(c connection) (netip.Addr, bool) {
	deadline := time.Now().Add(addressWithin)
	for _, address := range []netip.Addr{c.source, c.destination} {
		for g.addresses.holds(address) && g.podAt(address) == nil {
			if time.Now().After(deadline) {
				return address, true
			}
			time.Sleep(addressRetry)
		}
	}
	return netip.Addr{}, false
}

// Answers once packets are judged.
func (g *guard) ServeHTTP(response http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(response, "allowed %d\nrefused %d\n", g.allowed.Load(), g.refused.Load())
}

var protocols = map[byte]v1.Protocol{
	syscall.IPPROTO_TCP:  v1.ProtocolTCP,
	syscall.IPPROTO_UDP:  v1.ProtocolUDP,
	syscall.IPPROTO_SCTP: v1.ProtocolSCTP,
}

// Fragments were put together before: connections could not be told apart otherwise.
func firstPacket(packet []byte) (connection, error) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return connection{}, errors.New("not an IPv4 packet")
	}
	c := connection{
		source:      netip.AddrFrom4([4]byte(packet[12:16])),
		destination: netip.AddrFrom4([4]byte(packet[16:20])),
		protocol:    protocols[packet[9]],
	}
	if c.protocol == "" {
		return c, nil
	}
	// All three protocols begin with the two ports.
	ports := int(packet[0]&0x0f) * 4
	if len(packet) < ports+4 {
		return c, errors.New("cut off before its ports")
	}
	c.port = int32(binary.BigEndian.Uint16(packet[ports+2:]))
	return c, nil
}
