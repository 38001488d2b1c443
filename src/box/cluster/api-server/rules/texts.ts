/** What names, labels and the like may look like. */
const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

export const subdomain = new RegExp(`^(?=.{1,253}$)${label}(\\.${label})*$`);
export const wildcardSubdomain = new RegExp(`^(?=.{1,253}$)\\*\\.${label}(\\.${label})*$`);
export const dnsLabel = new RegExp(`^(?=.{1,63}$)${label}$`);
/** Of services: it begins with one of a to z. */
export const oldLabel = /^(?=.{1,63}$)[a-z]([-a-z0-9]*[a-z0-9])?$/;
export const pathSegment = /^(?=.{1,253}$)(?!\.{1,2}$)[^/%]+$/;
export const portName = /^(?=.{1,15}$)(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const labelValue = /^(?=.{0,63}$)([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
export const fileName = /^(?=.{1,253}$)(?!\.{1,2}$)(?!\.\.)[-._a-zA-Z0-9]+$/;
/** Printable, but no "=". */
export const variableName = /^[ -<>-~]+$/;
export const headerName = /^[-A-Za-z0-9]+$/;
export const fieldPath =
  /^(metadata\.(name|namespace|uid|labels|annotations)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/;

const namePart = /^(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** How much is wrong with a name of a label, annotation, resource or finalizer, with or without a domain before a slash. */
export function qualifiedNameFaults(text: string): number {
  const [name = "", prefix, ...more] = text.split("/").reverse();
  if (more.length > 0) return 1;
  const faults = [name === "", prefix !== undefined && !subdomain.test(prefix), !namePart.test(name)];
  return faults.filter(Boolean).length;
}
