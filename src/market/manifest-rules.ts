/** What every manifest must be like, whoever sent it. The words are the network's: tenants' tools look for them. */
import type { Manifest, ManifestExpose, ManifestService } from "./manifest.ts";

const serviceName = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const variableName = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const hostName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const mostHostChars = 255;

export function faultsOfManifest(manifest: Manifest): string[] {
  if (manifest.length === 0) return ["manifest is empty"];
  const faults: string[] = [];
  const hosts = new Set<string>();
  const groups = new Set<string>();
  for (const { name, services } of manifest) {
    if (groups.has(name)) faults.push(`duplicate group "${name}"`);
    groups.add(name);
    if (services.length === 0) faults.push(`group "${name}" contains no services`);
    if (services.some((service, index) => service.name < (services[index - 1]?.name ?? ""))) {
      faults.push(`group "${name}": services is not sorted`);
    }
    for (const service of services) faults.push(...faultsOfService(service, hosts));
  }
  const isGlobal = manifest.some(({ services }) => services.some(({ expose }) => expose.some(({ global }) => global)));
  if (!isGlobal) faults.push("zero global services");
  return faults;
}

function faultsOfService({ name, image, env, expose, resources }: ManifestService, hosts: Set<string>): string[] {
  const faults: string[] = [];
  const say = (reason: string) => faults.push(`service "${name}" ${reason}`);
  if (!serviceName.test(name)) say("name is invalid");
  if (image === "") say("has empty image name");
  if (resources.id < 1) say("has no resources id");
  for (const variable of env ?? []) {
    const [key = ""] = variable.split("=", 1);
    if (!variableName.test(key) || key === "." || key.startsWith("..")) {
      say(`defines an env. var. with an invalid name ${JSON.stringify(key)}`);
    }
  }
  for (const one of expose) for (const reason of faultsOfExpose(one, hosts)) say(reason);
  return faults;
}

function faultsOfExpose({ port, hosts }: ManifestExpose, taken: Set<string>): string[] {
  const faults: string[] = [];
  if (port < 1 || port > 65_535) faults.push("port value must be 0 < value <= 65535");
  for (const host of hosts ?? []) {
    if (host.length > mostHostChars || !hostName.test(host))
      faults.push(`has invalid hostname ${JSON.stringify(host)}`);
    if (taken.has(host)) faults.push(`hostname ${JSON.stringify(host)} is duplicated, this is not allowed`);
    taken.add(host);
  }
  return faults;
}
