/** What services, ingresses and network policies must be like. */
import { BlockList, isIP } from "node:net";
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, oldLabel, portName, subdomain, wildcardSubdomain } from "./texts.ts";

export const firstNodePort = 30_000;
export const lastNodePort = 32_767;

const service: Rule = (spec, at, found) => {
  const { type, clusterIP, externalName } = spec;
  const ports = recordsOf(spec["ports"]);
  found.labels(`${at}.selector`, spec["selector"]);
  listOf(spec["externalIPs"]).forEach((address, index) => void found.address(`${at}.externalIPs[${index}]`, address));
  if (type === "ExternalName") {
    found.when(!externalName, "Required", `${at}.externalName`);
    return found.text(`${at}.externalName`, externalName, subdomain);
  }
  if (clusterIP !== undefined && clusterIP !== "None") found.address(`${at}.clusterIPs[0]`, clusterIP);
  found.when(ports.length === 0 && clusterIP !== "None", "Required", `${at}.ports`);
  ports.forEach(({ name, nodePort }, index) => {
    found.when(ports.length > 1 && !name, "Required", `${at}.ports[${index}].name`);
    found.when(type === "ClusterIP" && nodePort !== undefined, "Forbidden", `${at}.ports[${index}].nodePort`);
  });
  const [names, numbers] = [ports.map(({ name }) => name), ports.map(({ port, protocol }) => `${port}/${protocol}`)];
  found.duplicates(names, (index) => `${at}.ports[${index}].name`);
  found.duplicates(numbers, (index) => `${at}.ports[${index}]`);
};

const servicePort: Rule = ({ name, port, targetPort, nodePort }, at, found) => {
  found.text(`${at}.name`, name, dnsLabel);
  found.port(`${at}.port`, port);
  found.portOrName(`${at}.targetPort`, targetPort);
  found.within(`${at}.nodePort`, nodePort, firstNodePort, lastNodePort);
};

const ingress: Rule = (spec, at, found) => {
  found.when(spec["defaultBackend"] === undefined && listOf(spec["rules"]).length === 0, "Invalid", at);
  found.text(`${at}.ingressClassName`, spec["ingressClassName"], subdomain);
};

function checkHost(host: unknown, field: string, found: Found): void {
  found.text(field, host, String(host).includes("*") ? wildcardSubdomain : subdomain);
  found.when(isIP(String(host)) !== 0, "Invalid", field, host);
}

const ingressPath: Rule = ({ path = "", pathType }, at, found) => {
  if (pathType !== "Exact" && pathType !== "Prefix") return;
  const isWrong = !String(path).startsWith("/") || /\/\/|\/\.\.?\/|%2f/i.test(String(path));
  found.when(isWrong, "Invalid", `${at}.path`, path);
};

const ingressBackend: Rule = ({ service: of, resource }, at, found) => {
  found.when((of === undefined) === (resource === undefined), "Invalid", at);
  if (of === undefined || resource !== undefined) return;
  const { name, port } = fieldsOf(of);
  const { name: portOf, number } = fieldsOf(port);
  found.text(`${at}.service.name`, name, oldLabel);
  found.when(Boolean(portOf) && Boolean(number), "Invalid", at);
  found.when(!portOf && !number, "Required", at);
  if (number) found.port(`${at}.service.port.number`, number);
  found.text(`${at}.service.port.name`, portOf, portName);
};

const peer: Rule = (value, at, found) => {
  const { ipBlock: block, ...others } = value;
  found.when(Object.keys(value).length === 0, "Required", at);
  found.when(block !== undefined && Object.keys(others).length > 0, "Forbidden", at);
};

const policyPort: Rule = ({ port, endPort }, at, found) => {
  found.portOrName(`${at}.port`, port);
  if (endPort === undefined) return;
  found.when(typeof port !== "number" || Number(endPort) < port, "Invalid", `${at}.endPort`, endPort);
};

const ipBlock: Rule = ({ cidr, except }, at, found) => {
  const outer = readCidr(cidr);
  found.when(!outer, "Invalid", `${at}.cidr`, cidr);
  if (!outer) return;
  const list = new BlockList();
  list.addSubnet(outer.address, outer.bits, outer.family);
  listOf(except).forEach((text, index) => {
    const inner = readCidr(text);
    const isInside = inner && inner.bits > outer.bits && list.check(inner.address, inner.family);
    found.when(!isInside, "Invalid", `${at}.except[${index}]`, text);
  });
};

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
  "networking.v1.IngressRule": ({ host }, at, found) => checkHost(host, `${at}.host`, found),
  "networking.v1.IngressTLS": ({ hosts }, at, found) =>
    listOf(hosts).forEach((host, index) => void checkHost(host, `${at}.hosts[${index}]`, found)),
  "networking.v1.HTTPIngressRuleValue": ({ paths }, at, found) =>
    found.when(listOf(paths).length === 0, "Required", `${at}.paths`),
  "networking.v1.HTTPIngressPath": ingressPath,
  "networking.v1.IngressBackend": ingressBackend,
  "networking.v1.NetworkPolicyPeer": peer,
  "networking.v1.NetworkPolicyPort": policyPort,
  "networking.v1.IPBlock": ipBlock,
};
