/**
 * Pod Security as a namespace's label enables it, at the level `baseline`, in the words of the API server: a pod is
 * rejected, a workload whose pods would be gets a warning. `restricted` is not used here, so it is not checked.
 */
import { fieldsOf, listOf, recordsOf, textOf } from "../../../../kube/json-fields.ts";
import type { KubeObject } from "../../../../kube/kube.ts";

type Fields = Readonly<Record<string, unknown>>;

const enforceLabel = "pod-security.kubernetes.io/enforce";

/** What a pod of this spec violates in this namespace, if it does: `PodSecurity "baseline:latest": privileged (…)`. */
export function podSecurityViolation(namespace: KubeObject | undefined, spec: unknown): string | undefined {
  const { labels = {} } = namespace?.metadata ?? {};
  if (labels[enforceLabel] !== "baseline") return undefined;
  const violations = checks.flatMap(([what, check]) => {
    const found = check(fieldsOf(spec));
    return found === "" ? [] : `${what} (${found})`;
  });
  const version = labels[`${enforceLabel}-version`] ?? "latest";
  return violations.length === 0 ? undefined : `PodSecurity "baseline:${version}": ${violations.join(", ")}`;
}

/** In the order of their names in Kubernetes; an empty text where all is well. */
const checks: readonly (readonly [what: string, check: (spec: Fields) => string])[] = [
  ["forbidden AppArmor profile", (spec) => profiles(spec, "appArmorProfile", "AppArmor profile type")],
  ["non-default capabilities", capabilities],
  ["host namespaces", hostNamespaces],
  ["hostPath volumes", hostPaths],
  ["hostPort", hostPorts],
  ["probe or lifecycle host", probeHosts],
  ["privileged", privileged],
  ["procMount", procMounts],
  ["seLinuxOptions", seLinux],
  ["seccompProfile", (spec) => profiles(spec, "seccompProfile", "securityContext.seccompProfile.type")],
  ["forbidden sysctls", sysctls],
  ["hostProcess", hostProcess],
];

const defaultCapabilities = new Set([
  ...["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"],
  ...["NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"],
]);

function capabilities(spec: Fields): string {
  const added = (container: Fields) => listOf(fieldsOf(contextOf(container)["capabilities"])["add"]).map(String);
  const wrong = containersOf(spec).flatMap((container) => {
    const names = added(container).filter((name) => !defaultCapabilities.has(name));
    return names.length > 0 ? [{ container, names }] : [];
  });
  const names = [...new Set(wrong.flatMap((each) => each.names))].sort();
  const who = whoOf(wrong.map(({ container }) => container));
  return who && `${who} must not include ${quoted(names)} in securityContext.capabilities.add`;
}

function hostNamespaces(spec: Fields): string {
  const shared = ["hostNetwork", "hostPID", "hostIPC"].filter((name) => spec[name] === true);
  return shared.map((name) => `${name}=true`).join(", ");
}

function hostPaths(spec: Fields): string {
  const names = recordsOf(spec["volumes"]).flatMap(({ hostPath, name }) => (hostPath ? [String(name)] : []));
  return names.length === 0 ? "" : `${plural("volume", names)} ${quoted(names)}`;
}

function hostPorts(spec: Fields): string {
  const portsOf = (container: Fields) =>
    recordsOf(container["ports"]).flatMap(({ hostPort }) => Number(hostPort) || []);
  const wrong = containersOf(spec).filter((container) => portsOf(container).length > 0);
  const ports = [...new Set(wrong.flatMap(portsOf))].map(String).sort();
  const uses = wrong.length > 1 ? "use" : "uses";
  return whoOf(wrong) && `${whoOf(wrong)} ${uses} ${plural("hostPort", ports)} ${ports.join(", ")}`;
}

function probeHosts(spec: Fields): string {
  const hostsOf = (container: Fields) => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    const { postStart, preStop } = fieldsOf(lifecycle);
    const handlers = [livenessProbe, readinessProbe, startupProbe, postStart, preStop].map(fieldsOf);
    const actions = handlers.flatMap(({ httpGet, tcpSocket }) => [fieldsOf(httpGet), fieldsOf(tcpSocket)]);
    return actions.flatMap(({ host }) => textOf(host) || []);
  };
  const wrong = containersOf(spec).filter((container) => hostsOf(container).length > 0);
  const hosts = [...new Set(wrong.flatMap(hostsOf))].sort();
  const uses = wrong.length > 1 ? "use" : "uses";
  return whoOf(wrong) && `${whoOf(wrong)} ${uses} probe or lifecycle ${plural("host", hosts)} ${quoted(hosts)}`;
}

function privileged(spec: Fields): string {
  const who = whoOf(containersOf(spec).filter((container) => contextOf(container)["privileged"] === true));
  return who && `${who} must not set securityContext.privileged=true`;
}

function procMounts(spec: Fields): string {
  const mountOf = (container: Fields) => contextOf(container)["procMount"] ?? "Default";
  const wrong = containersOf(spec).filter((container) => mountOf(container) !== "Default");
  const mounts = [...new Set(wrong.map((container) => String(mountOf(container))))].sort();
  return whoOf(wrong) && `${whoOf(wrong)} must not set securityContext.procMount to ${quoted(mounts)}`;
}

const seLinuxTypes = new Set(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]);

function seLinux(spec: Fields): string {
  const optionsOf = (each: Fields) => fieldsOf(contextOf(each)["seLinuxOptions"]);
  const isWrong = (each: Fields) => {
    const { type = "", user, role } = optionsOf(each);
    return !seLinuxTypes.has(String(type)) || Boolean(user) || Boolean(role);
  };
  const wrong = [spec, ...containersOf(spec)].filter(isWrong);
  const options = wrong.map(optionsOf);
  const types = [...new Set(options.map(({ type = "" }) => String(type)))].filter((type) => !seLinuxTypes.has(type));
  const said = [
    types.length > 0 ? `${plural("type", types)} ${quoted(types.sort())}` : "",
    options.some(({ user }) => user) ? "user may not be set" : "",
    options.some(({ role }) => role) ? "role may not be set" : "",
  ];
  const who = whoOf(wrong, spec);
  return who && `${who} set forbidden securityContext.seLinuxOptions: ${said.filter(Boolean).join("; ")}`;
}

/** Of seccomp and AppArmor: anything but none at all. */
function profiles(spec: Fields, field: string, called: string): string {
  const isWrong = (each: Fields) => fieldsOf(contextOf(each)[field])["type"] === "Unconfined";
  const who = whoOf([spec, ...containersOf(spec)].filter(isWrong), spec);
  return who && `${who} must not set ${called} to "Unconfined"`;
}

const safeSysctls = new Set([
  "kernel.shm_rmid_forced",
  ...["ip_local_port_range", "tcp_syncookies", "ping_group_range", "ip_unprivileged_port_start"].map(ipv4),
  ...["ip_local_reserved_ports", "tcp_keepalive_time", "tcp_fin_timeout", "tcp_keepalive_intvl"].map(ipv4),
  ...["tcp_keepalive_probes", "tcp_rmem", "tcp_wmem"].map(ipv4),
]);

function ipv4(name: string): string {
  return `net.ipv4.${name}`;
}

function sysctls(spec: Fields): string {
  const names = recordsOf(contextOf(spec)["sysctls"]).map(({ name }) => String(name));
  return names.filter((name) => !safeSysctls.has(name)).join(", ");
}

function hostProcess(spec: Fields): string {
  const isWrong = (each: Fields) => fieldsOf(contextOf(each)["windowsOptions"])["hostProcess"] === true;
  const who = whoOf([spec, ...containersOf(spec)].filter(isWrong), spec);
  return who && `${who} must not set securityContext.windowsOptions.hostProcess=true`;
}

function containersOf(spec: Fields): readonly Fields[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => recordsOf(spec[list]));
}

function contextOf(each: Fields): Fields {
  return fieldsOf(each["securityContext"]);
}

/** `pod and containers "a", "b"`; nothing for an empty list. */
function whoOf(wrong: readonly Fields[], pod?: Fields): string {
  const names = wrong.filter((each) => each !== pod).map(({ name }) => String(name));
  const containers = names.length > 0 ? `${plural("container", names)} ${quoted(names)}` : "";
  return [pod && wrong.includes(pod) ? "pod" : "", containers].filter(Boolean).join(" and ");
}

function plural(word: string, names: readonly string[]): string {
  return names.length > 1 ? `${word}s` : word;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
