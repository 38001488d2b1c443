import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const settingErrors = {
  AKP_SETTING_UNKNOWN: {
    message: "{where}: there is no setting {name}",
    advice: "{hint}",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_SETTING_INVALID: {
    message: "{where}: {name} cannot be {value}: {reason}",
    advice: "{hint}",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_SETTINGS_REFUSED: {
    message: "{count} settings are wrong:\n{list}",
    advice: "Correct them and start again. `akash-provider config print` shows every setting and where it came from.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_SETTINGS_FILE_UNREADABLE: {
    message: "{where}: {path} cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_SETTINGS_FILE_MALFORMED: {
    message: "{path}:{line}:{column}: this is not valid YAML: {reason}",
    advice: "Correct that line and start again.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_PROVIDER_HOST_MISSING: {
    message: "nothing says where tenants reach this provider",
    advice:
      "Write `host: https://provider.example.com:8443` into a provider.yaml and name that with --provider-config.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_PROVIDER_ADDRESS_MISSING: {
    message: "nothing says which provider the IP operator works for",
    advice: "Name its account with --provider or AP_PROVIDER: akash1…",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
} as const satisfies Errors;
