package main

import (
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The network policies' answer to "may this connection be made?", as the API's reference describes it.
type judge struct {
	*cluster
}

// A connection as its first packet shows it: after a Service's address was replaced by a pod's.
type connection struct {
	source, destination netip.Addr
	// Empty for what has no ports; only a rule that names no port matches it.
	protocol v1.Protocol
	port     int32
}

// One entry of a policy's ingress or egress list.
type rule struct {
	ports []networking.NetworkPolicyPort
	peers []networking.NetworkPolicyPeer
}

// Whose policies forbid the connection; empty if nobody's do.
func (j judge) refusal(c connection) string {
	// No policy keeps a pod from itself, also when it calls itself through a Service.
	if c.source == c.destination {
		return ""
	}
	source, destination := j.podAt(c.source), j.podAt(c.destination)
	if source != nil && !j.allows(networking.PolicyTypeEgress, source, c.destination, destination, c) {
		return fmt.Sprintf("egress of %s/%s", source.Namespace, source.Name)
	}
	if destination != nil && !j.allows(networking.PolicyTypeIngress, destination, c.source, source, c) {
		return fmt.Sprintf("ingress of %s/%s", destination.Namespace, destination.Name)
	}
	return ""
}

// A pod that no policy selects may do anything; one that is selected, only what some policy allows.
func (j judge) allows(direction networking.PolicyType, pod *v1.Pod, peerAddress netip.Addr, peer *v1.Pod, c connection) bool {
	selected := false
	for _, policy := range j.policiesIn(pod.Namespace) {
		if !slices.Contains(policy.Spec.PolicyTypes, direction) || !selects(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		selected = true
		for _, rule := range rulesOf(policy, direction) {
			if j.portMatches(rule.ports, c) && j.peerMatches(rule.peers, policy.Namespace, peerAddress, peer) {
				return true
			}
		}
	}
	return !selected
}

func rulesOf(policy *networking.NetworkPolicy, direction networking.PolicyType) []rule {
	var rules []rule
	if direction == networking.PolicyTypeIngress {
		for _, entry := range policy.Spec.Ingress {
			rules = append(rules, rule{entry.Ports, entry.From})
		}
		return rules
	}
	for _, entry := range policy.Spec.Egress {
		rules = append(rules, rule{entry.Ports, entry.To})
	}
	return rules
}

// No peers in a rule means everybody.
func (j judge) peerMatches(peers []networking.NetworkPolicyPeer, policyNamespace string, address netip.Addr, pod *v1.Pod) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networking.NetworkPolicyPeer) bool {
		if peer.IPBlock != nil {
			return blockHolds(peer.IPBlock, address)
		}
		if pod == nil {
			return false
		}
		if peer.NamespaceSelector == nil {
			return pod.Namespace == policyNamespace && selects(peer.PodSelector, pod.Labels)
		}
		return selects(peer.NamespaceSelector, j.namespaceLabels(pod.Namespace)) &&
			(peer.PodSelector == nil || selects(peer.PodSelector, pod.Labels))
	})
}

// No ports in a rule means all, of every protocol.
func (j judge) portMatches(ports []networking.NetworkPolicyPort, c connection) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(port networking.NetworkPolicyPort) bool {
		if port.Protocol == nil || *port.Protocol != c.protocol {
			return false
		}
		if port.Port == nil {
			return true
		}
		if port.Port.Type == intstr.String {
			return hasNamedPort(j.podAt(c.destination), port.Port.StrVal, c)
		}
		first := port.Port.IntVal
		last := first
		if port.EndPort != nil {
			last = *port.EndPort
		}
		return first <= c.port && c.port <= last
	})
}

// Names are those of the pod that is called, in either direction.
func hasNamedPort(pod *v1.Pod, name string, c connection) bool {
	if pod == nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), func(container v1.Container) bool {
		return slices.ContainsFunc(container.Ports, func(port v1.ContainerPort) bool {
			return port.Name == name && port.ContainerPort == c.port && port.Protocol == c.protocol
		})
	})
}

func blockHolds(block *networking.IPBlock, address netip.Addr) bool {
	return holds(block.CIDR, address) && !slices.ContainsFunc(block.Except, func(cidr string) bool {
		return holds(cidr, address)
	})
}

// What the API server let through but cannot be read matches nothing: a mistake must not open a door.
func holds(cidr string, address netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(address)
}

func selects(selector *meta.LabelSelector, set labels.Set) bool {
	parsed, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}
