package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
)

// From the first to the last, both included.
type addressRange struct {
	first, last netip.Addr
}

func parseRange(text string) (addressRange, error) {
	from, to, _ := strings.Cut(text, "-")
	first, err := netip.ParseAddr(from)
	if err != nil {
		return addressRange{}, fmt.Errorf("%q is not FIRST-LAST: %w", text, err)
	}
	last, err := netip.ParseAddr(to)
	if err != nil {
		return addressRange{}, fmt.Errorf("%q is not FIRST-LAST: %w", text, err)
	}
	return addressRange{first, last}, nil
}

func (r addressRange) holds(address netip.Addr) bool {
	return r.first.Compare(address) <= 0 && address.Compare(r.last) <= 0
}

const (
	// Where an IPv4 header has them.
	sourceOffset, destinationOffset = 12, 16
	register                        = 1
)

// Replaces the table whole, in one step, so that no packet slips through between old and new rules.
//
// What the node itself sends passes neither hook, so the kubelet reaches every pod, as Kubernetes demands. Services'
// addresses have been replaced by pods' before either hook, and sources are masked only after.
func writeRules(table string, pods addressRange, queue uint16) error {
	connection, err := nftables.New()
	if err != nil {
		return err
	}
	ours := &nftables.Table{Name: table, Family: nftables.TableFamilyIPv4}
	// Deleting a table that is not there fails; adding one that is there does not.
	connection.AddTable(ours)
	connection.DelTable(ours)
	connection.AddTable(ours)

	toQueue := queueTarget(queue)
	addChain(connection, ours, "forward", nftables.ChainHookForward,
		established, matching(sourceOffset, pods, toQueue), matching(destinationOffset, pods, toQueue))
	addChain(connection, ours, "input", nftables.ChainHookInput,
		established, matching(sourceOffset, pods, toQueue))
	return connection.Flush()
}

func addChain(connection *nftables.Conn, table *nftables.Table, name string, hook *nftables.ChainHook, rules ...[]expr.Any) {
	chain := connection.AddChain(&nftables.Chain{
		Name: name, Table: table, Type: nftables.ChainTypeFilter, Hooknum: hook,
		// Before the lab's fence: what a policy refuses is dropped, what only the fence refuses gets an answer.
		Priority: nftables.ChainPriorityRef(*nftables.ChainPriorityFilter - 1),
	})
	for _, rule := range rules {
		connection.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: rule})
	}
}

// Accepts what belongs to a connection that was judged.
var established = []expr.Any{
	&expr.Ct{Key: expr.CtKeySTATE, Register: register},
	&expr.Bitwise{
		SourceRegister: register, DestRegister: register, Len: 4,
		Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED),
		Xor:  make([]byte, 4),
	},
	&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	&expr.Verdict{Kind: expr.VerdictAccept},
}

func matching(offset uint32, addresses addressRange, then expr.Any) []expr.Any {
	return []expr.Any{
		&expr.Payload{Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4, DestRegister: register},
		&expr.Range{
			Op: expr.CmpOpEq, Register: register,
			FromData: addresses.first.AsSlice(), ToData: addresses.last.AsSlice(),
		},
		then,
	}
}

// The NFQUEUE target of iptables rather than the queue statement of nftables, which not every kernel is built with.
// Revision 3 holds three numbers of 16 bits: first queue, number of queues, flags. No flags: without a listener the
// packet is dropped. The kernel wants it padded to eight bytes.
func queueTarget(queue uint16) expr.Any {
	info := make(xt.Unknown, 8)
	binary.NativeEndian.PutUint16(info[0:], queue)
	binary.NativeEndian.PutUint16(info[2:], 1)
	return &expr.Target{Name: "NFQUEUE", Rev: 3, Info: &info}
}
