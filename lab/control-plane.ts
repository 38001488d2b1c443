/** The half of Kubernetes that decides: etcd, API server, controller manager, scheduler. */
import { join } from "node:path";
import { answers, apiAnswers } from "./api.ts";
import { kubeBinary } from "./build.ts";
import type { Component } from "./component.ts";
import { write } from "./files.ts";
import { network, places } from "./places.ts";
import { frontProxy, kubeconfigOf, secret } from "./secrets.ts";

const etcdUrl = `http://127.0.0.1:${network.etcdPort}`;
const etcdPeerUrl = `http://127.0.0.1:${network.etcdPeerPort}`;
const auditPolicy = join(places.config, "audit-policy.json");

const kube = (...args: string[]) => ({ program: kubeBinary(), args });

const etcd: Component = {
  name: "etcd",
  command: () =>
    kube(
      "etcd",
      `--data-dir=${join(places.state, "etcd")}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=${etcdPeerUrl}`,
      `--initial-advertise-peer-urls=${etcdPeerUrl}`,
      `--initial-cluster=default=${etcdPeerUrl}`,
      // A lab that loses power is made anew; waiting for the disk would only make tests slow.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ),
  ready: () => answers(`${etcdUrl}/health`),
};

const apiServer: Component = {
  name: "kube-apiserver",
  prepare: () => write(auditPolicy, audit),
  command: () => ({
    program: kubeBinary(),
    reads: [auditPolicy, secret("tokens.csv")],
    args: [
      "kube-apiserver",
      `--etcd-servers=${etcdUrl}`,
      `--bind-address=${network.node}`,
      `--advertise-address=${network.node}`,
      `--secure-port=${network.apiPort}`,
      `--service-cluster-ip-range=${network.services}`,
      `--tls-cert-file=${secret("apiserver.crt")}`,
      `--tls-private-key-file=${secret("apiserver.key")}`,
      `--client-ca-file=${secret("ca.crt")}`,
      `--token-auth-file=${secret("tokens.csv")}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--allow-privileged=true",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-signing-key-file=${secret("service-account.key")}`,
      `--service-account-key-file=${secret("service-account.key")}`,
      `--kubelet-client-certificate=${secret("kubelet-client.crt")}`,
      `--kubelet-client-key=${secret("kubelet-client.key")}`,
      "--kubelet-preferred-address-types=InternalIP",
      // Requests of aggregated API groups are forwarded: this is the client certificate of the proxy, which forwards users.
      `--proxy-client-cert-file=${secret("front-proxy.crt")}`,
      `--proxy-client-key-file=${secret("front-proxy.key")}`,
      `--requestheader-client-ca-file=${secret("front-proxy-ca.crt")}`,
      `--requestheader-allowed-names=${frontProxy}`,
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--audit-policy-file=${auditPolicy}`,
      `--audit-log-path=${places.auditLog}`,
      "--audit-log-maxsize=100",
      "--audit-log-maxbackup=3",
    ],
  }),
  ready: () => apiAnswers("/readyz"),
};

/** Audit policy: metadata of every request, after its answer, without the frequent renewals of leases. */
const audit = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "None",
      resources: [{ group: "coordination.k8s.io", resources: ["leases"] }],
      userGroups: ["system:nodes"],
    },
    { level: "Metadata" },
  ],
};

const controllerManager: Component = {
  name: "kube-controller-manager",
  command: () =>
    kube(
      "kube-controller-manager",
      `--kubeconfig=${kubeconfigOf("kube-controller-manager")}`,
      "--bind-address=127.0.0.1",
      // There is one of each; an election would only delay the start.
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      `--service-account-private-key-file=${secret("service-account.key")}`,
      `--root-ca-file=${secret("ca.crt")}`,
      `--cluster-signing-cert-file=${secret("ca.crt")}`,
      `--cluster-signing-key-file=${secret("ca.key")}`,
    ),
  ready: () => answers("https://127.0.0.1:10257/healthz"),
};

const scheduler: Component = {
  name: "kube-scheduler",
  command: () =>
    kube(
      "kube-scheduler",
      `--kubeconfig=${kubeconfigOf("kube-scheduler")}`,
      "--bind-address=127.0.0.1",
      "--leader-elect=false",
    ),
  ready: () => answers("https://127.0.0.1:10259/healthz"),
};

export const controlPlane: readonly Component[] = [etcd, apiServer, controllerManager, scheduler];
