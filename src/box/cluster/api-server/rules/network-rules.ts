/** What services, ingresses and network policies must be like. */
import { BlockList, isIP } from "node:net";
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, oldLabel, portName, subdomain, wildcardSubdomain } from "./texts.ts";

const service: Rule = (spec, at, found) => {
  const { type, clusterIP, externalName } = spec;
  const ports = recordsOf(spec["ports"]);
  found.labels(`${at}.selector`, spec["selector"]);
  listOf(spec["externalIPs"]).forEach((address, index) => void found.address(`${at}.externalIPs[${index}]`, address));
  if (type === "ExternalName") {
    if (!externalName) found.required(`${at}.externalName`);
    return found.text(`${at}.externalName`, externalName, subdomain);
  }
  if (clusterIP !== undefined && clusterIP !== "None") found.address(`${at}.clusterIPs[0]`, clusterIP);
  if (ports.length === 0 && clusterIP !== "None") found.required(`${at}.ports`);
  ports.forEach(({ name, nodePort }, index) => {
    if (ports.length > 1 && !name) found.required(`${at}.ports[${index}].name`);
    if (type === "ClusterIP" && nodePort !== undefined) {
      found.prohibited(`${at}.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'");
    }
  });
  found.duplicates(
    ports,
    ({ name }) => name,
    (index) => `${at}.ports[${index}].name`,
  );
  found.duplicates(
    ports,
    ({ port, protocol }) => `${port}/${protocol}`,
    (index) => `${at}.ports[${index}]`,
  );
};

const servicePort: Rule = ({ name, port, targetPort, nodePort }, at, found) => {
  found.text(`${at}.name`, name, dnsLabel);
  found.port(`${at}.port`, port);
  found.portOrName(`${at}.targetPort`, targetPort);
  if (typeof nodePort === "number" && (nodePort < firstNodePort || nodePort > lastNodePort)) {
    const range = `The range of valid ports is ${firstNodePort}-${lastNodePort}`;
    found.invalid(`${at}.nodePort`, nodePort, `provided port is not in the valid range. ${range}`);
  }
};

export const firstNodePort = 30_000;
export const lastNodePort = 32_767;

const ingress: Rule = (spec, at, found) => {
  if (spec["defaultBackend"] === undefined && listOf(spec["rules"]).length === 0) {
    found.invalid(at, null, "either `defaultBackend` or `rules` must be specified");
  }
  found.text(`${at}.ingressClassName`, spec["ingressClassName"], subdomain);
};

function checkHost(host: unknown, field: string, found: Found): void {
  if (isIP(String(host))) found.invalid(field, host, "must be a DNS name, not an IP address");
  else found.text(field, host, String(host).includes("*") ? wildcardSubdomain : subdomain);
}

const ingressRule: Rule = ({ host }, at, found) => checkHost(host, `${at}.host`, found);

const ingressTls: Rule = ({ hosts }, at, found) =>
  listOf(hosts).forEach((host, index) => void checkHost(host, `${at}.hosts[${index}]`, found));

const ingressPaths: Rule = ({ paths }, at, found) => {
  if (listOf(paths).length === 0) found.required(`${at}.paths`);
};

const ingressPath: Rule = ({ path = "", pathType }, at, found) => {
  if (pathType !== "Exact" && pathType !== "Prefix") return;
  const text = String(path);
  if (!text.startsWith("/")) found.invalid(`${at}.path`, path, "must be an absolute path");
  const bad = ["//", "/./", "/../", "%2f", "%2F"].find((part) => text.includes(part));
  if (bad !== undefined) found.invalid(`${at}.path`, path, `must not contain '${bad}'`);
};

const ingressBackend: Rule = ({ service: of, resource }, at, found) => {
  if (of !== undefined && resource !== undefined)
    found.invalid(at, "", "cannot set both resource and service backends");
  else if (of === undefined && resource === undefined) found.invalid(at, "", "resource or service backend is required");
  if (of === undefined || resource !== undefined) return;
  const { name, port } = fieldsOf(of);
  found.text(`${at}.service.name`, name, oldLabel);
  const { name: portOf, number } = fieldsOf(port);
  if (portOf && number) found.invalid(at, "", "cannot set both port name & port number");
  else if (!portOf && !number) found.required(at, "port name or number is required");
  if (number) found.port(`${at}.service.port.number`, number);
  found.text(`${at}.service.port.name`, portOf, portName);
};

const policy: Rule = ({ policyTypes }, at, found) => {
  const types = listOf(policyTypes);
  if (types.length > 2) found.invalid(`${at}.policyTypes`, types, "may not specify more than two policyTypes");
};

const peer: Rule = (value, at, found) => {
  const { ipBlock, podSelector, namespaceSelector } = value;
  if (Object.keys(value).length === 0) found.required(at, "must specify a peer");
  if (ipBlock !== undefined && (podSelector !== undefined || namespaceSelector !== undefined)) {
    found.prohibited(at, "may not specify both ipBlock and another peer");
  }
};

const policyPort: Rule = ({ port, endPort }, at, found) => {
  found.portOrName(`${at}.port`, port);
  if (typeof endPort !== "number") return;
  if (port === undefined) found.invalid(`${at}.endPort`, endPort, "may not be specified when `port` is not specified");
  else if (typeof port === "string") {
    found.invalid(`${at}.endPort`, endPort, "may not be specified when `port` is non-numeric");
  } else if (endPort < Number(port)) found.invalid(`${at}.endPort`, endPort, "must be greater than or equal to `port`");
};

const ipBlock: Rule = ({ cidr, except }, at, found) => {
  const outer = readCidr(cidr);
  if (!outer) return void checkCidr(cidr, `${at}.cidr`, found);
  const list = new BlockList();
  list.addSubnet(outer.address, outer.bits, outer.family);
  listOf(except).forEach((text, index) => {
    const inner = readCidr(text);
    const field = `${at}.except[${index}]`;
    if (!inner) checkCidr(text, field, found);
    else if (inner.bits <= outer.bits || !list.check(inner.address, inner.family)) {
      found.invalid(field, text, "must be a strict subset of `cidr`");
    }
  });
};

function checkCidr(value: unknown, field: string, found: Found): void {
  found.invalid(field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
}

function readCidr(value: unknown): { address: string; bits: number; family: "ipv4" | "ipv6" } | undefined {
  const [, address = "", bits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(String(value)) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits) > (version === 4 ? 32 : 128)) return undefined;
  return { address, bits: Number(bits), family: version === 4 ? "ipv4" : "ipv6" };
}

export const networkRules: Readonly<Record<string, Rule>> = {
  "core.v1.ServiceSpec": service,
  "core.v1.ServicePort": servicePort,
  "networking.v1.IngressSpec": ingress,
  "networking.v1.IngressRule": ingressRule,
  "networking.v1.IngressTLS": ingressTls,
  "networking.v1.HTTPIngressRuleValue": ingressPaths,
  "networking.v1.HTTPIngressPath": ingressPath,
  "networking.v1.IngressBackend": ingressBackend,
  "networking.v1.NetworkPolicySpec": policy,
  "networking.v1.NetworkPolicyPeer": peer,
  "networking.v1.NetworkPolicyPort": policyPort,
  "networking.v1.IPBlock": ipBlock,
};
