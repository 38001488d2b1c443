/** What names, labels and the like may look like. */
export interface TextRule {
  readonly pattern: RegExp;
  readonly most: number;
  readonly says: string;
}

const label = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`;

export const subdomain: TextRule = {
  pattern: new RegExp(`^${label}(\\.${label})*$`),
  most: 253,
  says: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
};

export const wildcardSubdomain: TextRule = {
  pattern: new RegExp(`^\\*\\.${label}(\\.${label})*$`),
  most: 253,
  says: "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain",
};

export const dnsLabel: TextRule = {
  pattern: new RegExp(`^${label}$`),
  most: 63,
  says: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
};

export const oldLabel: TextRule = {
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  most: 63,
  says: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
};

export const pathSegment: TextRule = { pattern: /^(?!\.{1,2}$)[^/%]+$/, most: 253, says: "may not contain '/' or '%'" };

export const portName: TextRule = {
  pattern: /^(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  most: 15,
  says: "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-), and at least one letter",
};

export const labelValue: TextRule = {
  pattern: /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/,
  most: 63,
  says: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
};

export const fileName: TextRule = {
  pattern: /^(?!\.{1,2}$)(?!\.\.)[-._a-zA-Z0-9]+$/,
  most: 253,
  says: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
};

export const variableName: TextRule = {
  pattern: /^[ -<>-~]+$/,
  most: Number.POSITIVE_INFINITY,
  says: "a valid environment variable name must consist only of printable ASCII characters other than '='",
};

export const headerName: TextRule = {
  pattern: /^[-A-Za-z0-9]+$/,
  most: Number.POSITIVE_INFINITY,
  says: "a valid HTTP header must consist of alphanumeric characters or '-'",
};

/** Why a text is none of its kind, if it is none. */
export function textFault(text: string, { pattern, most, says }: TextRule): string | undefined {
  if (text.length > most) return `must be no more than ${most} characters`;
  return pattern.test(text) ? undefined : says;
}

const namePart: TextRule = {
  pattern: /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
  most: 63,
  says: "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
};

/** Of names of labels, annotations, resources and finalizers, with or without a domain before a slash. */
export function qualifiedNameFaults(text: string): string[] {
  const [name = "", prefix, ...more] = text.split("/").reverse();
  if (more.length > 0) return [namePart.says];
  const faults = name === "" ? ["name part must be non-empty"] : [];
  if (prefix !== undefined && textFault(prefix, subdomain)) faults.push(`prefix part ${subdomain.says}`);
  const fault = textFault(name, namePart);
  return fault === undefined ? faults : [...faults, fault];
}
