/** Where the lab keeps things and which addresses it uses. One lab per machine: its network has one name. */
import { homedir } from "node:os";
import { join } from "node:path";

/** Everything the running lab writes; `down` removes it whole. Unix sockets lie in it, so the path has to be short. */
const state = "/var/lib/akash-provider-lab";

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "akash-provider-lab");

export const places = {
  state,
  /** Built programs. They outlive the lab and the checkout, because building takes minutes. */
  cache,
  kubeconfig: join(state, "kubeconfig"),
  auditLog: join(state, "logs", "audit.log"),
  logs: join(state, "logs"),
  processes: join(state, "processes"),
  secrets: join(state, "secrets"),
  config: join(state, "config"),
  /** Where PersistentVolumes are. */
  volumes: join(state, "volumes"),
  podLogs: join(state, "logs", "pods"),
  containerdSocket: join(state, "containerd.sock"),
} as const;

export const network = {
  bridge: "lab0",
  /** The node's address. Kubernetes rejects loopback for a node, so the lab makes a bridge of its own. */
  node: "172.30.0.1",
  subnet: "172.30.0.0/24",
  /** The host's end of every pod's cable; traffic from the node to a pod comes from here. */
  podGateway: "172.30.0.2",
  firstPod: "172.30.0.10",
  lastPod: "172.30.0.250",
  /** Where Traefik listens, for the host and for pods; like a Service's address it exists only as rules. */
  ingress: "172.30.0.3",
  /** Addresses that exist only as kube-proxy's rules. */
  services: "10.96.0.0/16",
  apiService: "10.96.0.1",
  dnsService: "10.96.0.10",
  etcdPort: 12379,
  etcdPeerPort: 12380,
  apiPort: 6443,
  redisPort: 6379,
  kwokPort: 10247,
  /** KWOK's pods have addresses of this range. No server answers there. */
  fakePods: "10.97.0.1/16",
} as const;

export const nodeName = "lab";
/** The node's pods live below this cgroup, so that `down` knows which are ours. */
export const cgroup = "akash-provider-lab";
export const apiServer = `https://${network.node}:${network.apiPort}`;
