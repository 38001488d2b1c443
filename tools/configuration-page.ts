/** docs/configuration.md, made from the table of settings. */
import {
  type DeadSetting,
  type Default,
  type FixedSetting,
  type LiveSetting,
  operators,
  type Program,
  programs,
  type SettingGroup,
} from "../src/config/setting.ts";
import { groups, liveSettings, variableOf } from "../src/config/table.ts";

export function configurationPage(): string {
  const sections = [introduction, providerYaml(), ...groups.map(groupSection), secrets(), inert(), otherVariables];
  return `${sections.join("\n\n")}\n`;
}

const introduction = `# Configuration

This page is made from the program's own table of settings by \`npm run docs\`.

A setting can be given as a flag, as an environment variable and, some of them, in \`provider.yaml\`. If it is given in
several places, the flag wins over the environment, the environment over the file, and the file over the default.
\`akash-provider config print\` shows every value and where it came from.

- The variable of \`--bid-timeout\` is \`AP_BID_TIMEOUT\`, or else \`AKASH_BID_TIMEOUT\`. An empty variable is as good as none.
- An empty flag (\`--metrics-listener=\`) takes back what environment and file say.
- Times have units: \`500ms\`, \`10s\`, \`5m\`, \`1h30m\`. Lists are separated by commas; their flags may be repeated.
- Switches are \`true\` or \`false\`; \`--cluster-k8s\` alone means true.
- In paths, \`~\` and \`$HOME\` stand for the user's home directory.

The programs are \`run\`, which is the provider, \`client\`, which are the commands that act on a chain from a shell, \`ask\`, which
are those that ask the running provider (\`orders\`, \`why\`, \`screen\`, \`pause\` …), the operators \`inventory\`, \`hostname\` and \`ip\`,
and \`discovery\`, which looks at the hardware of a node.

A setting that does not exist or makes no sense ends the program with exit code 2, and everything that is wrong is reported
at once, with its place and the nearest right name.`;

function providerYaml(): string {
  const keys = liveSettings.flatMap(([, setting]) =>
    setting.key === undefined ? [] : [{ ...setting, key: setting.key }],
  );
  return `## provider.yaml

The file that \`--provider-config\` names:

\`\`\`yaml
host: https://provider.example.com:8443
info:
  email: operator@example.com
  website: https://example.com
attributes:
  - key: region
    value: us-west
  - key: host
    value: akash
bidpricestrategy: table
price_target_cpu: 1.60
price_target_memory: 0.80
price_target_hd_ephemeral: 0.02
price_target_hd_pers_hdd: 0.01
price_target_hd_pers_ssd: 0.03
price_target_hd_pers_nvme: 0.04
price_target_endpoint: 0.05
price_target_ip: 5
price_target_gpu_mappings: a100=120,h100.80gi.sxm=280
# With bidpricestrategy: scale, these instead.
bidpricecpuscale: 0.004
bidpricememoryscale: 0.0016
bidpricestoragescale: 0.00016,beta2=0.00016
bidpricegpuscale: a100=300,h100=700
bidpriceendpointscale: 0.1
bidpriceipscale: 12
deployment_ingress_static_hosts: true
deployment_ingress_domain: ingress.example.com
\`\`\`

${table(
  ["Key", "Flag", "What it is"],
  keys.map(({ key, flag, doc }) => [code(key), flag ? code(`--${flag}`) : "", doc]),
)}

Attribute keys begin with A-Z or a-z and continue with A-Z, a-z, digits or any of \`_ / . -\`, 128 characters at most,
each key once. Numbers are taken as they are written, digit by digit.`;
}

function groupSection({ title, about, settings }: SettingGroup): string {
  const rows = Object.values(settings).flatMap((setting) => (setting.format.isSecret ? [] : [row(setting)]));
  return `## ${title}\n\n${about}\n\n${table(["Setting", "Default", "Used by", "What it does"], rows)}`;
}

function row(live: LiveSetting<unknown>): string[] {
  const { flag, key, format, default: fallback, usedBy, doc, alsoVariable } = live;
  const name = flag === undefined ? `${code(`${key}:`)} in provider.yaml` : code(`--${flag} ${format.placeholder}`);
  const also = alsoVariable ? ` Also read from ${code(alsoVariable)}.` : "";
  return [name, defaultText(fallback), usersText(usedBy), `${doc}${also}`];
}

function usersText(usedBy: readonly Program[]): string {
  if (usedBy.length === programs.length) return "all";
  const others = usedBy.filter((program) => !operators.includes(program));
  return usedBy.length - others.length === operators.length ? [...others, "operators"].join(", ") : usedBy.join(", ");
}

function defaultText(fallback: Default | undefined): string {
  if (!fallback) return "none";
  if (typeof fallback === "string") return code(fallback);
  return fallback.says === "none" || fallback.says.includes(" ") ? fallback.says : code(fallback.says);
}

function secrets(): string {
  const rows = liveSettings.flatMap(([, { flag, doc, format }]) => {
    if (!format.isSecret || flag === undefined) return [];
    const variable = `AP_${variableOf(flag)}`;
    return [[code(variable), code(`${variable}_FILE`), doc]];
  });
  return `## Secrets

Secrets are never taken from the command line, where every user of the machine could read them, and never shown.

${table(["Variable", "or the path of a file", "What it is"], rows)}`;
}

function inert(): string {
  const all = groups.flatMap(({ inert }) => inert);
  const dead = all.filter((setting): setting is DeadSetting => setting.type === "dead");
  const fixed = all.filter((setting): setting is FixedSetting => setting.type === "fixed");
  return `## Settings of the Go provider that do nothing

They are accepted, as flag or variable, with a warning:

${table(
  ["Flag", "Why"],
  dead.map(({ flag, why }) => [code(`--${flag}`), why]),
)}

Of these only one value makes sense, and any other is rejected:

${table(
  ["Flag", "Value", "Why"],
  fixed.map(({ flag, only, why }) => [code(`--${flag}`), code(only), why]),
)}`;
}

const otherVariables = `## Other variables

- An unknown \`AP_…\` or \`AKASH_…\` variable has no effect and gets a warning, with the most similar name of a setting.
- \`AKASH_…\` is shared with the chain's node, the tenants' tools and Kubernetes: their variables, and the links of Kubernetes
  services, get no warning.
- \`AP_GATEWAY_IMPLEMENTATION\`, which the charts set, is taken for \`AP_GATEWAY_PROVIDER\`.
- \`DEPLOYMENT_NETWORK_POLICIES_ENABLED\`, which the charts set without a prefix, has no effect: network policies stay on
  unless \`AP_DEPLOYMENT_NETWORK_POLICIES_ENABLED=false\` says otherwise.
- \`AKASH_ATTESTATION_…\` (trusted hardware) is not supported yet and gets a warning.`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
