/**
 * An etcd and an API server of one's own: no root, no node, on a loopback address of its own, and gone with their owner. For tests
 * that restart, cut off or compact them, which the shared lab does not allow.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Owner } from "../test/support/owner.ts";
import type { TestCertificate } from "../test/support/test-certificate.ts";
import { answers } from "./api.ts";
import { binaryOf, isBuilt } from "./build.ts";
import { write } from "./files.ts";
import { type OwnProcess, ownAddress, startOwnProcess } from "./own-process.ts";
import { kubeconfigOf, ownUsers, serviceAccountIssuer, writeSecrets } from "./own-secrets.ts";
import type { ProgramName } from "./programs.ts";

export interface ControlPlaneOptions {
  /** Starts the controller manager too: garbage collection and namespace deletion work. */
  readonly controllers?: boolean;
  /** KWOK, which plays the kubelet of every node. */
  readonly kwok?: boolean;
  /** Starts the scheduler too. */
  readonly scheduler?: boolean;
}

export interface OwnControlPlane {
  readonly address: string;
  readonly apiUrl: string;
  /** The credentials of a cluster administrator, and their kubeconfig. */
  readonly admin: { readonly token: string };
  readonly kubeconfig: string;
  /** Of the user "unprivileged", without any role. */
  readonly unprivilegedKubeconfig: string;
  /** Signs client certificates that the API server believes. */
  readonly authority: TestCertificate;
  /** Signs service account tokens that the API server believes (RS256). */
  readonly accountKeyPem: string;
  /** A line of JSON per request, once it was answered. */
  readonly auditLog: string;
  /** Writes a kubeconfig of these credentials; `server` for one that leads through a proxy. */
  writeKubeconfig(name: string, user: object, server?: string): string;
  /** Resolves when it answers. */
  startApi(): Promise<void>;
  /** As an update does it: watches are ended, requests are finished. */
  restartApi(): Promise<void>;
  /** As a power cut does it. */
  killApi(): Promise<void>;
  /** Compacts etcd up to the present: watches from before lose changes and cannot resume. */
  compact(): Promise<void>;
  /** Keeps what etcd has now. What it resolves with puts that back, versions and all; both stop the server for a while. */
  backUp(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Others than those of a cluster on this machine, which may listen on every address. */
const [etcdPort, etcdPeerPort] = [22_379, 22_380];
export const apiPort = 26_443;

/** Why it cannot run here, or false. In CI nothing is skipped: there a missing program makes the tests fail. */
export function controlPlaneMissing(programs: readonly ProgramName[] = ["kube"]): string | false {
  const missing = programs.filter((name) => !isBuilt(name));
  if (missing.length === 0 || process.env["CI"]) return false;
  return `${missing.join(" and ")} not built: npm run lab -- up`;
}

export async function startControlPlane(owner: Owner, options: ControlPlaneOptions = {}): Promise<OwnControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-kube-"));
  const file = (name: string) => join(folder, name);
  const address = ownAddress();
  const etcdUrl = `http://${address}:${etcdPort}`;
  const apiUrl = `https://${address}:${apiPort}`;
  const { authority, accountKeyPem } = writeSecrets(folder);
  const processes = new Map<string, OwnProcess>();

  async function run(name: string, command: { program: ProgramName; args: string[] }, look: () => Promise<boolean>) {
    const started = startOwnProcess(name, { program: binaryOf(command.program), args: command.args }, folder);
    processes.set(name, started);
    await started.until(look);
  }

  async function startApi(): Promise<void> {
    const args = apiArguments(file, etcdUrl, address);
    await run("kube-apiserver", { program: "kube", args }, () => answers(`${apiUrl}/readyz`));
  }

  async function startEtcd(): Promise<void> {
    const args = etcdArguments(file("etcd"), etcdUrl, `http://${address}:${etcdPeerPort}`);
    await run("etcd", { program: "kube", args }, () => answers(`${etcdUrl}/health`));
  }

  /** Requires that no client writes. */
  async function copyState(from: string, to: string): Promise<void> {
    for (const name of ["kube-apiserver", "etcd"]) await processes.get(name)?.end("SIGKILL");
    rmSync(file(to), { recursive: true, force: true });
    cpSync(file(from), file(to), { recursive: true });
    await startEtcd();
    await startApi();
  }

  async function close(): Promise<void> {
    await Promise.all([...processes.values()].map((each) => each.end("SIGKILL")));
    // Only now: while they run they may write there.
    rmSync(folder, { recursive: true, force: true });
  }

  function writeKubeconfig(name: string, user: object, server = apiUrl): string {
    write(file(name), kubeconfigOf(server, authority.certPem, user));
    return file(name);
  }

  owner.after(close);
  const plane: OwnControlPlane = {
    address,
    apiUrl,
    admin: ownUsers.admin,
    kubeconfig: writeKubeconfig("admin.kubeconfig", ownUsers.admin),
    unprivilegedKubeconfig: writeKubeconfig("unprivileged.kubeconfig", ownUsers.unprivileged),
    authority,
    accountKeyPem,
    auditLog: file("audit.log"),
    writeKubeconfig,
    startApi,
    async restartApi() {
      await processes.get("kube-apiserver")?.end("SIGTERM");
      await startApi();
    },
    async killApi() {
      await processes.get("kube-apiserver")?.end("SIGKILL");
    },
    compact: () => compact(etcdUrl),
    async backUp() {
      await copyState("etcd", "backup");
      return () => copyState("backup", "etcd");
    },
    close,
  };
  await startEtcd();
  await startApi();
  const started = async () => true;
  if (options.controllers) {
    const args = controllerArguments(file, plane.kubeconfig);
    await run("kube-controller-manager", { program: "kube", args }, started);
  }
  if (options.scheduler) {
    const args = ["kube-scheduler", `--kubeconfig=${plane.kubeconfig}`, "--secure-port=0", "--leader-elect=false"];
    await run("kube-scheduler", { program: "kube", args }, started);
  }
  if (options.kwok) {
    const args = kwokArguments(file("kwok.json"), plane.kubeconfig);
    await run("kwok", { program: "kwok", args }, started);
  }
  return plane;
}

const shared = "LAB_SHARED_KUBECONFIG";

/** For the runner: the test files that it starts after this find one control plane that runs as long as its owner. */
export async function shareControlPlane(owner: Owner): Promise<void> {
  if (isBuilt()) process.env[shared] = await sharedControlPlane(owner);
}

/**
 * The kubeconfig of one with controllers, for tests that neither stop it nor mind what others have there: that of the run,
 * or one of the owner's where a file of tests is run alone.
 */
export async function sharedControlPlane(owner: Owner): Promise<string> {
  return process.env[shared] ?? (await startControlPlane(owner, { controllers: true })).kubeconfig;
}

function etcdArguments(data: string, url: string, peerUrl: string): string[] {
  return [
    "etcd",
    `--data-dir=${data}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // What loses power here is made anew.
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

function apiArguments(file: (name: string) => string, etcdUrl: string, address: string): string[] {
  return [
    "kube-apiserver",
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${address}`,
    // Loopback is rejected here, and no client uses this address.
    "--advertise-address=192.0.2.1",
    `--secure-port=${apiPort}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    `--tls-cert-file=${file("apiserver.crt")}`,
    `--tls-private-key-file=${file("apiserver.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=RBAC",
    // No controllers create the service account that a pod would wait for, or remove a new node's taint.
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    `--service-account-issuer=${serviceAccountIssuer}`,
    `--service-account-signing-key-file=${file("service-account.key")}`,
    `--service-account-key-file=${file("service-account.key")}`,
    `--audit-policy-file=${file("audit-policy.json")}`,
    "--allow-privileged=true",
    `--audit-log-path=${file("audit.log")}`,
  ];
}

function controllerArguments(file: (name: string) => string, kubeconfig: string): string[] {
  return [
    "kube-controller-manager",
    `--kubeconfig=${kubeconfig}`,
    "--secure-port=0",
    "--leader-elect=false",
    `--service-account-private-key-file=${file("service-account.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
  ];
}

function kwokArguments(config: string, kubeconfig: string): string[] {
  // As many at once as keep the API server busy, which KWOK by itself does not.
  const options = { podPlayStageParallelism: 16, nodePlayStageParallelism: 16 };
  write(config, { apiVersion: "config.kwok.x-k8s.io/v1alpha1", kind: "KwokConfiguration", options });
  return [
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    "--manage-all-nodes=true",
    // A lease is renewed every 50 s: a thousand nodes would else keep the API server busy with nothing else.
    "--node-lease-duration-seconds=200",
  ];
}

async function compact(etcdUrl: string): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ header: { revision: string } }> => {
    const answer = await fetch(`${etcdUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd rejected ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { header: { revision: string } };
  };
  // Keys that no server reads. Two, since a watch that lacks only the last revision can still resume.
  const key = Buffer.from("forgotten").toString("base64");
  await ask("/v3/kv/put", { key });
  const { header } = await ask("/v3/kv/put", { key });
  await ask("/v3/kv/compaction", { revision: header.revision, physical: true });
}
