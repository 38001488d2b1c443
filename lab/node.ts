/** The half of Kubernetes that runs things: containerd, kubelet, kube-proxy on the one node of the lab. */
import { join } from "node:path";
import { answers } from "./api.ts";
import { kubeBinary } from "./build.ts";
import type { Component } from "./component.ts";
import { containerdAnswers } from "./containerd.ts";
import { write } from "./files.ts";
import { pauseImage } from "./images.ts";
import { findCniPlugins, needProgram } from "./machine.ts";
import { cgroup, network, nodeName, places } from "./places.ts";
import { kubeconfigOf, secret } from "./secrets.ts";

const config = (name: string) => join(places.config, name);
const state = (name: string) => join(places.state, name);

const containerd: Component = {
  name: "containerd",
  prepare() {
    write(config("containerd.toml"), containerdToml());
    write(join(config("cni"), "10-lab.conflist"), podNetwork);
  },
  command: () => ({
    program: needProgram("containerd"),
    args: ["--config", config("containerd.toml")],
    reads: [config("containerd.toml")],
  }),
  ready: async () => containerdAnswers(),
};

/** Every path is the lab's own, so that a containerd of the machine is not touched. */
function containerdToml(): string {
  return `version = 2
root = ${JSON.stringify(state("containerd"))}
state = ${JSON.stringify(state("containerd-run"))}
[grpc]
  address = ${JSON.stringify(places.containerdSocket)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${JSON.stringify(state("containerd-opt"))}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${JSON.stringify(pauseImage)}
  # A machine that may not lower a process' OOM score could not start a single pod otherwise.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${JSON.stringify(findCniPlugins())}
    conf_dir = ${JSON.stringify(config("cni"))}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = ${JSON.stringify(needProgram("runc"))}
      Root = ${JSON.stringify(state("runc"))}
`;
}

/**
 * Each pod hangs on a cable of its own and every packet is routed by the host, also between two pods: on a shared
 * bridge, answers would slip past the rules of Services and network policies.
 */
const podNetwork = {
  cniVersion: "0.4.0",
  name: "lab",
  plugins: [
    {
      type: "ptp",
      ipam: {
        type: "host-local",
        dataDir: state("cni"),
        ranges: [
          [
            {
              subnet: network.subnet,
              rangeStart: network.firstPod,
              rangeEnd: network.lastPod,
              gateway: network.podGateway,
            },
          ],
        ],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

const kubelet: Component = {
  name: "kubelet",
  prepare() {
    // Pods must not ask the machine's name servers: traffic stays in the lab.
    write(config("resolv.conf"), "");
    write(config("kubelet.json"), kubeletConfiguration);
  },
  command: () => ({
    program: kubeBinary(),
    reads: [config("kubelet.json")],
    args: [
      "kubelet",
      `--config=${config("kubelet.json")}`,
      `--kubeconfig=${kubeconfigOf("kubelet")}`,
      `--root-dir=${state("kubelet")}`,
      `--cert-dir=${state("kubelet-certificates")}`,
      `--hostname-override=${nodeName}`,
      `--node-ip=${network.node}`,
    ],
  }),
  ready: () => answers("http://127.0.0.1:10248/healthz"),
};

const kubeletConfiguration = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  address: network.node,
  healthzBindAddress: "127.0.0.1",
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: secret("ca.crt") },
  },
  authorization: { mode: "Webhook" },
  containerRuntimeEndpoint: `unix://${places.containerdSocket}`,
  clusterDomain: "cluster.local",
  clusterDNS: [network.dnsService],
  resolvConf: config("resolv.conf"),
  podLogsDir: places.podLogs,
  volumePluginDir: state("volume-plugins"),
  // Machines for tests are often small and odd: old cgroups, swap, a full disk. The lab takes them as they are.
  cgroupDriver: "cgroupfs",
  cgroupRoot: `/${cgroup}`,
  failCgroupV1: false,
  failSwapOn: false,
  enforceNodeAllocatable: [],
  evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
  // A volume that is too large is noticed by its size, which is else read once a minute.
  volumeStatsAggPeriod: "5s",
  // There is no registry to fetch an image from again.
  imageGCHighThresholdPercent: 100,
  // kube-proxy alone writes packet rules, all in tables of its own that go away whole.
  makeIPTablesUtilChains: false,
};

const proxy: Component = {
  name: "kube-proxy",
  prepare: () => write(config("kube-proxy.json"), proxyConfiguration),
  command: () => ({
    program: kubeBinary(),
    args: ["kube-proxy", `--config=${config("kube-proxy.json")}`],
    reads: [config("kube-proxy.json")],
  }),
  ready: () => answers("http://127.0.0.1:10256/livez"),
};

const proxyConfiguration = {
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  mode: "nftables",
  clientConnection: { kubeconfig: kubeconfigOf("kube-proxy") },
  hostnameOverride: nodeName,
  clusterCIDR: network.subnet,
  healthzBindAddress: "127.0.0.1:10256",
  metricsBindAddress: "127.0.0.1:10249",
  // Zeroes: leave the machine's own settings alone.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
};

export const node: readonly Component[] = [containerd, kubelet, proxy];
