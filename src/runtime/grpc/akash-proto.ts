/** Made of proto/ by `npm run docs`: what changes here is lost. A codec for each message, then each file as data. */
import {
  bool,
  bytes,
  int32,
  int64,
  mapOf,
  messageOf,
  nanoseconds,
  optional,
  plain,
  repeated,
  text,
  uint32,
  uint64,
} from "../protobuf.ts";
import { durationFile, emptyFile, type ProtoFile, timestampFile } from "./proto-file.ts";

const noBytes = new Uint8Array();

export const attributesV1Attribute = messageOf({
  key: plain(1, text, ""),
  value: plain(2, text, ""),
});

export const attributesV1SignedBy = messageOf({
  allOf: repeated(1, text),
  anyOf: repeated(2, text),
});

export const attributesV1PlacementRequirements = messageOf({
  signedBy: optional(1, attributesV1SignedBy),
  attributes: repeated(2, attributesV1Attribute),
});

export const resourcesV1beta4ResourceValue = messageOf({
  val: plain(1, bytes, noBytes),
});

export const resourcesV1beta4CPU = messageOf({
  units: optional(1, resourcesV1beta4ResourceValue),
  attributes: repeated(2, attributesV1Attribute),
});

export const resourcesV1beta4Endpoint = messageOf({
  kind: int32(1),
  sequenceNumber: uint32(2),
});

export const resourcesV1beta4GPU = messageOf({
  units: optional(1, resourcesV1beta4ResourceValue),
  attributes: repeated(2, attributesV1Attribute),
});

export const resourcesV1beta4Memory = messageOf({
  quantity: optional(1, resourcesV1beta4ResourceValue),
  attributes: repeated(2, attributesV1Attribute),
});

export const resourcesV1beta4Storage = messageOf({
  name: plain(1, text, ""),
  quantity: optional(2, resourcesV1beta4ResourceValue),
  attributes: repeated(3, attributesV1Attribute),
});

export const resourcesV1beta4Resources = messageOf({
  id: uint32(1),
  cpu: optional(2, resourcesV1beta4CPU),
  memory: optional(3, resourcesV1beta4Memory),
  storage: repeated(4, resourcesV1beta4Storage),
  gpu: optional(5, resourcesV1beta4GPU),
  endpoints: repeated(6, resourcesV1beta4Endpoint),
});

export const cosmosBaseV1beta1DecCoin = messageOf({
  denom: plain(1, text, ""),
  amount: plain(2, text, ""),
});

export const deploymentV1beta4ResourceUnit = messageOf({
  resource: optional(1, resourcesV1beta4Resources),
  count: uint32(2),
  price: optional(3, cosmosBaseV1beta1DecCoin),
});

export const deploymentV1beta4GroupSpec = messageOf({
  name: plain(1, text, ""),
  requirements: optional(2, attributesV1PlacementRequirements),
  resources: repeated(3, deploymentV1beta4ResourceUnit),
});

export const resourceQuantity = messageOf({
  string: plain(1, text, ""),
});

export const inventoryV1ResourcePair = messageOf({
  allocatable: optional(1, resourceQuantity),
  allocated: optional(2, resourceQuantity),
  attributes: repeated(3, attributesV1Attribute),
  capacity: optional(4, resourceQuantity),
});

export const inventoryV1CPUInfo = messageOf({
  id: plain(1, text, ""),
  vendor: plain(2, text, ""),
  model: plain(3, text, ""),
  vcores: uint32(4),
});

export const inventoryV1CPU = messageOf({
  quantity: optional(1, inventoryV1ResourcePair),
  info: repeated(2, inventoryV1CPUInfo),
});

export const inventoryV1GPUInfo = messageOf({
  vendor: plain(1, text, ""),
  vendorId: plain(2, text, ""),
  name: plain(3, text, ""),
  modelid: plain(4, text, ""),
  interface: plain(5, text, ""),
  memorySize: plain(6, text, ""),
});

export const inventoryV1GPU = messageOf({
  quantity: optional(1, inventoryV1ResourcePair),
  info: repeated(2, inventoryV1GPUInfo),
});

export const inventoryV1MemoryInfo = messageOf({
  vendor: plain(1, text, ""),
  type: plain(2, text, ""),
  totalSize: plain(3, text, ""),
  speed: plain(4, text, ""),
});

export const inventoryV1Memory = messageOf({
  quantity: optional(1, inventoryV1ResourcePair),
  info: repeated(2, inventoryV1MemoryInfo),
});

export const inventoryV1NodeResources = messageOf({
  cpu: optional(1, inventoryV1CPU),
  memory: optional(2, inventoryV1Memory),
  gpu: optional(3, inventoryV1GPU),
  ephemeralStorage: optional(4, inventoryV1ResourcePair),
  volumesAttached: optional(5, inventoryV1ResourcePair),
  volumesMounted: optional(6, inventoryV1ResourcePair),
});

export const inventoryV1NodeCapabilities = messageOf({
  storageClasses: repeated(1, text),
});

export const inventoryV1Node = messageOf({
  name: plain(1, text, ""),
  resources: optional(2, inventoryV1NodeResources),
  capabilities: optional(3, inventoryV1NodeCapabilities),
});

export const inventoryV1StorageInfo = messageOf({
  class: plain(1, text, ""),
  iops: plain(2, text, ""),
});

export const inventoryV1Storage = messageOf({
  quantity: optional(1, inventoryV1ResourcePair),
  info: optional(2, inventoryV1StorageInfo),
});

export const inventoryV1Cluster = messageOf({
  nodes: repeated(1, inventoryV1Node),
  storage: repeated(2, inventoryV1Storage),
});

export const manifestV2beta3ServiceExposeHTTPOptions = messageOf({
  maxBodySize: uint32(1),
  readTimeout: uint32(2),
  sendTimeout: uint32(3),
  nextTries: uint32(4),
  nextTimeout: uint32(5),
  nextCases: repeated(6, text),
  proxyBufferSize: uint32(7),
});

export const manifestV2beta3ServiceExpose = messageOf({
  port: uint32(1),
  externalPort: uint32(2),
  proto: plain(3, text, ""),
  service: plain(4, text, ""),
  global: bool(5),
  hosts: repeated(6, text),
  httpOptions: optional(7, manifestV2beta3ServiceExposeHTTPOptions),
  ip: plain(8, text, ""),
  endpointSequenceNumber: uint32(9),
});

export const manifestV2beta3StorageParams = messageOf({
  name: plain(1, text, ""),
  mount: plain(2, text, ""),
  readOnly: bool(3),
});

export const manifestV2beta3ServicePermissions = messageOf({
  read: repeated(1, text),
});

export const manifestV2beta3TEEParams = messageOf({
  type: plain(1, text, ""),
  attestation: bool(2),
});

export const manifestV2beta3ImageCredentials = messageOf({
  host: plain(1, text, ""),
  email: plain(2, text, ""),
  username: plain(3, text, ""),
  password: plain(4, text, ""),
});

export const manifestV2beta3ServiceParams = messageOf({
  storage: repeated(1, manifestV2beta3StorageParams),
  credentials: optional(10, manifestV2beta3ImageCredentials),
  permissions: optional(11, manifestV2beta3ServicePermissions),
  tee: optional(12, manifestV2beta3TEEParams),
});

export const manifestV2beta3Service = messageOf({
  name: plain(1, text, ""),
  image: plain(2, text, ""),
  command: repeated(3, text),
  args: repeated(4, text),
  env: repeated(5, text),
  resources: optional(6, resourcesV1beta4Resources),
  count: uint32(7),
  expose: repeated(8, manifestV2beta3ServiceExpose),
  params: optional(9, manifestV2beta3ServiceParams),
  credentials: optional(10, manifestV2beta3ImageCredentials),
});

export const manifestV2beta3Group = messageOf({
  name: plain(1, text, ""),
  services: repeated(2, manifestV2beta3Service),
});

export const marketV1LeaseID = messageOf({
  owner: plain(1, text, ""),
  dseq: uint64(2),
  gseq: uint32(3),
  oseq: uint32(4),
  provider: plain(5, text, ""),
  bseq: uint32(6),
});

export const marketV1beta5StorageOfferPrice = messageOf({
  name: plain(1, text, ""),
  price: optional(2, cosmosBaseV1beta1DecCoin),
});

export const marketV1beta5EndpointOfferPrice = messageOf({
  kind: int32(1),
  price: optional(2, cosmosBaseV1beta1DecCoin),
});

export const marketV1beta5OfferPrices = messageOf({
  cpu: optional(2, cosmosBaseV1beta1DecCoin),
  memory: optional(3, cosmosBaseV1beta1DecCoin),
  storage: repeated(4, marketV1beta5StorageOfferPrice),
  gpu: optional(5, cosmosBaseV1beta1DecCoin),
  endpoints: repeated(6, marketV1beta5EndpointOfferPrice),
});

export const marketV1beta5ResourceOffer = messageOf({
  resources: optional(1, resourcesV1beta4Resources),
  count: uint32(2),
  prices: optional(3, marketV1beta5OfferPrices),
});

export const operatorHostnameV1Condition = messageOf({
  type: plain(1, text, ""),
  message: plain(2, text, ""),
  status: plain(3, text, ""),
  reason: plain(4, text, ""),
});

export const operatorHostnameV1Hostname = messageOf({
  hostname: plain(1, text, ""),
  leaseId: optional(2, marketV1LeaseID),
  namespace: plain(3, text, ""),
  service: plain(4, text, ""),
  externalPort: uint32(5),
  state: plain(6, text, ""),
  health: plain(7, text, ""),
  route: plain(8, text, ""),
  endpointsKnown: bool(9),
  endpointsReady: uint32(10),
  endpointsTotal: uint32(11),
  conditions: repeated(12, operatorHostnameV1Condition),
  changedAt: optional(13, nanoseconds),
});

export const operatorHostnameV1StatusRequest = messageOf({});

export const operatorHostnameV1Status = messageOf({
  waitingFor: plain(1, text, ""),
  leading: bool(2),
  backend: plain(3, text, ""),
  served: uint32(4),
  waiting: uint32(5),
  refused: uint32(6),
  unhealthy: uint32(7),
});

export const operatorHostnameV1StateRequest = messageOf({
  hostnames: repeated(1, text),
});

export const operatorHostnameV1State = messageOf({
  whole: bool(1),
  hostnames: repeated(2, operatorHostnameV1Hostname),
  gone: repeated(3, text),
  settled: bool(4),
});

export const operatorIpV1PoolUsage = messageOf({
  name: plain(1, text, ""),
  total: uint64(2),
  inUse: uint64(3),
  free: uint64(4),
});

export const operatorIpV1Usage = messageOf({
  total: uint64(1),
  inUse: uint64(2),
  free: uint64(3),
  pools: repeated(4, operatorIpV1PoolUsage),
});

export const operatorIpV1Condition = messageOf({
  type: plain(1, text, ""),
  subject: plain(2, text, ""),
  message: plain(3, text, ""),
  status: plain(4, text, ""),
  reason: plain(5, text, ""),
});

export const operatorIpV1LeasedPort = messageOf({
  lease: plain(1, text, ""),
  namespace: plain(2, text, ""),
  service: plain(3, text, ""),
  port: uint32(4),
  externalPort: uint32(5),
  protocol: plain(6, text, ""),
  sharingKey: plain(7, text, ""),
  address: plain(8, text, ""),
});

export const operatorIpV1State = messageOf({
  ports: repeated(1, operatorIpV1LeasedPort),
  conditions: repeated(2, operatorIpV1Condition),
});

export const operatorIpV1Status = messageOf({
  leading: bool(1),
  waitingFor: plain(2, text, ""),
  usage: optional(3, operatorIpV1Usage),
  ports: uint64(4),
  pendingPorts: uint64(5),
  ignoredLeases: uint64(6),
  conditions: repeated(7, operatorIpV1Condition),
});

export const providerLeaseV1LeaseServiceStatus = messageOf({
  available: int32(1),
  total: int32(2),
  uris: repeated(3, text),
  observedGeneration: int64(4),
  replicas: int32(5),
  updatedReplicas: int32(6),
  readyReplicas: int32(7),
  availableReplicas: int32(8),
});

export const providerLeaseV1LeaseIPStatus = messageOf({
  port: uint32(1),
  externalPort: uint32(2),
  protocol: plain(3, text, ""),
  ip: plain(4, text, ""),
});

export const providerLeaseV1ForwarderPortStatus = messageOf({
  host: plain(1, text, ""),
  port: uint32(2),
  externalPort: uint32(3),
  proto: plain(4, text, ""),
  name: plain(5, text, ""),
});

export const providerLeaseV1ServiceStatus = messageOf({
  name: plain(1, text, ""),
  status: optional(2, providerLeaseV1LeaseServiceStatus),
  ports: repeated(3, providerLeaseV1ForwarderPortStatus),
  ips: repeated(4, providerLeaseV1LeaseIPStatus),
});

export const providerLeaseV1SendManifestRequest = messageOf({
  leaseId: optional(1, marketV1LeaseID),
  manifest: repeated(2, manifestV2beta3Group),
});

export const providerLeaseV1SendManifestResponse = messageOf({});

export const providerLeaseV1ServiceLogsRequest = messageOf({
  leaseId: optional(1, marketV1LeaseID),
  services: repeated(2, text),
});

export const providerLeaseV1ServiceLogs = messageOf({
  name: plain(1, text, ""),
  logs: plain(2, bytes, noBytes),
});

export const providerLeaseV1ServiceLogsResponse = messageOf({
  services: repeated(1, providerLeaseV1ServiceLogs),
});

export const providerLeaseV1ShellRequest = messageOf({
  leaseId: optional(1, marketV1LeaseID),
});

export const providerLeaseV1ServiceStatusRequest = messageOf({
  leaseId: optional(1, marketV1LeaseID),
  services: repeated(2, text),
});

export const providerLeaseV1ServiceStatusResponse = messageOf({
  services: repeated(1, providerLeaseV1ServiceStatus),
});

export const providerLeaseV1AttestationQuoteRequest = messageOf({
  leaseId: optional(1, marketV1LeaseID),
  nonce: plain(2, text, ""),
  bindTls: bool(3),
});

export const providerLeaseV1AttestationGPUReport = messageOf({
  deviceIndex: uint32(1),
  report: plain(2, text, ""),
});

export const providerLeaseV1AttestationQuoteResponse = messageOf({
  report: plain(1, text, ""),
  certChain: plain(2, text, ""),
  teePlatform: plain(3, text, ""),
  auxblob: plain(4, text, ""),
  gpuReports: repeated(5, providerLeaseV1AttestationGPUReport),
  tlsBound: bool(6),
});

export const providerV1ResourcesMetric = messageOf({
  cpu: optional(1, resourceQuantity),
  memory: optional(2, resourceQuantity),
  gpu: optional(3, resourceQuantity),
  ephemeralStorage: optional(4, resourceQuantity),
  storage: mapOf(5, resourceQuantity),
});

export const providerV1Leases = messageOf({
  active: uint32(1),
});

export const providerV1ReservationsMetric = messageOf({
  count: uint32(1),
  resources: optional(2, providerV1ResourcesMetric),
});

export const providerV1Reservations = messageOf({
  pending: optional(1, providerV1ReservationsMetric),
  active: optional(2, providerV1ReservationsMetric),
});

export const providerV1Inventory = messageOf({
  cluster: optional(1, inventoryV1Cluster),
  reservations: optional(2, providerV1Reservations),
  leasedIp: optional(3, inventoryV1ResourcePair),
});

export const providerV1ClusterStatus = messageOf({
  leases: optional(1, providerV1Leases),
  inventory: optional(2, providerV1Inventory),
});

export const providerV1BidEngineStatus = messageOf({
  orders: uint32(1),
});

export const providerV1ManifestStatus = messageOf({
  deployments: uint32(1),
});

export const providerV1Status = messageOf({
  errors: repeated(1, text),
  cluster: optional(2, providerV1ClusterStatus),
  bidEngine: optional(3, providerV1BidEngineStatus),
  manifest: optional(4, providerV1ManifestStatus),
  publicHostnames: repeated(5, text),
  timestamp: optional(6, nanoseconds),
  reclamationWindow: optional(7, nanoseconds),
});

export const providerV1BidScreeningRequest = messageOf({
  groupSpec: optional(1, deploymentV1beta4GroupSpec),
  hostnames: repeated(2, text),
});

export const providerV1BidScreeningResponse = messageOf({
  passed: bool(1),
  reasons: repeated(2, text),
  resourceOffers: repeated(3, marketV1beta5ResourceOffer),
  price: optional(4, cosmosBaseV1beta1DecCoin),
});

export const grpcHealthV1HealthCheckRequest = messageOf({
  service: plain(1, text, ""),
});

export const grpcHealthV1HealthCheckResponse = messageOf({
  status: int32(1),
});

export const grpcReflectionV1ExtensionRequest = messageOf({
  containingType: plain(1, text, ""),
  extensionNumber: int32(2),
});

export const grpcReflectionV1ServerReflectionRequest = messageOf({
  host: plain(1, text, ""),
  fileByFilename: plain(3, text, ""),
  fileContainingSymbol: plain(4, text, ""),
  fileContainingExtension: optional(5, grpcReflectionV1ExtensionRequest),
  allExtensionNumbersOfType: plain(6, text, ""),
  listServices: plain(7, text, ""),
});

export const grpcReflectionV1FileDescriptorResponse = messageOf({
  fileDescriptorProto: repeated(1, bytes),
});

export const grpcReflectionV1ExtensionNumberResponse = messageOf({
  baseTypeName: plain(1, text, ""),
  extensionNumber: int32(2),
});

export const grpcReflectionV1ServiceResponse = messageOf({
  name: plain(1, text, ""),
});

export const grpcReflectionV1ListServiceResponse = messageOf({
  service: repeated(1, grpcReflectionV1ServiceResponse),
});

export const grpcReflectionV1ErrorResponse = messageOf({
  errorCode: int32(1),
  errorMessage: plain(2, text, ""),
});

export const grpcReflectionV1ServerReflectionResponse = messageOf({
  validHost: plain(1, text, ""),
  originalRequest: optional(2, grpcReflectionV1ServerReflectionRequest),
  fileDescriptorResponse: optional(4, grpcReflectionV1FileDescriptorResponse),
  allExtensionNumbersResponse: optional(5, grpcReflectionV1ExtensionNumberResponse),
  listServicesResponse: optional(6, grpcReflectionV1ListServiceResponse),
  errorResponse: optional(7, grpcReflectionV1ErrorResponse),
});

export const grpcReflectionV1alphaExtensionRequest = messageOf({
  containingType: plain(1, text, ""),
  extensionNumber: int32(2),
});

export const grpcReflectionV1alphaServerReflectionRequest = messageOf({
  host: plain(1, text, ""),
  fileByFilename: plain(3, text, ""),
  fileContainingSymbol: plain(4, text, ""),
  fileContainingExtension: optional(5, grpcReflectionV1alphaExtensionRequest),
  allExtensionNumbersOfType: plain(6, text, ""),
  listServices: plain(7, text, ""),
});

export const grpcReflectionV1alphaFileDescriptorResponse = messageOf({
  fileDescriptorProto: repeated(1, bytes),
});

export const grpcReflectionV1alphaExtensionNumberResponse = messageOf({
  baseTypeName: plain(1, text, ""),
  extensionNumber: int32(2),
});

export const grpcReflectionV1alphaServiceResponse = messageOf({
  name: plain(1, text, ""),
});

export const grpcReflectionV1alphaListServiceResponse = messageOf({
  service: repeated(1, grpcReflectionV1alphaServiceResponse),
});

export const grpcReflectionV1alphaErrorResponse = messageOf({
  errorCode: int32(1),
  errorMessage: plain(2, text, ""),
});

export const grpcReflectionV1alphaServerReflectionResponse = messageOf({
  validHost: plain(1, text, ""),
  originalRequest: optional(2, grpcReflectionV1alphaServerReflectionRequest),
  fileDescriptorResponse: optional(4, grpcReflectionV1alphaFileDescriptorResponse),
  allExtensionNumbersResponse: optional(5, grpcReflectionV1alphaExtensionNumberResponse),
  listServicesResponse: optional(6, grpcReflectionV1alphaListServiceResponse),
  errorResponse: optional(7, grpcReflectionV1alphaErrorResponse),
});

export const attributesV1AttributeFile: ProtoFile = {
  name: "akash/base/attributes/v1/attribute.proto",
  package: "akash.base.attributes.v1",
  messages: {
    Attribute: ["string key = 1", "string value = 2"],
    SignedBy: ["repeated string all_of = 1", "repeated string any_of = 2"],
    PlacementRequirements: ["SignedBy signed_by = 1", "repeated Attribute attributes = 2"],
  },
};

export const resourcesV1beta4ResourcevalueFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/resourcevalue.proto",
  package: "akash.base.resources.v1beta4",
  messages: { ResourceValue: ["bytes val = 1"] },
};

export const resourcesV1beta4CpuFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/cpu.proto",
  package: "akash.base.resources.v1beta4",
  messages: { CPU: ["ResourceValue units = 1", "repeated akash.base.attributes.v1.Attribute attributes = 2"] },
  imports: [attributesV1AttributeFile, resourcesV1beta4ResourcevalueFile],
};

export const resourcesV1beta4EndpointFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/endpoint.proto",
  package: "akash.base.resources.v1beta4",
  messages: { Endpoint: ["Kind kind = 1", "uint32 sequence_number = 2"] },
  enums: { "Endpoint.Kind": ["SHARED_HTTP = 0", "RANDOM_PORT = 1", "LEASED_IP = 2"] },
};

export const resourcesV1beta4GpuFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/gpu.proto",
  package: "akash.base.resources.v1beta4",
  messages: { GPU: ["ResourceValue units = 1", "repeated akash.base.attributes.v1.Attribute attributes = 2"] },
  imports: [attributesV1AttributeFile, resourcesV1beta4ResourcevalueFile],
};

export const resourcesV1beta4MemoryFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/memory.proto",
  package: "akash.base.resources.v1beta4",
  messages: { Memory: ["ResourceValue quantity = 1", "repeated akash.base.attributes.v1.Attribute attributes = 2"] },
  imports: [attributesV1AttributeFile, resourcesV1beta4ResourcevalueFile],
};

export const resourcesV1beta4StorageFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/storage.proto",
  package: "akash.base.resources.v1beta4",
  messages: {
    Storage: [
      "string name = 1",
      "ResourceValue quantity = 2",
      "repeated akash.base.attributes.v1.Attribute attributes = 3",
    ],
  },
  imports: [attributesV1AttributeFile, resourcesV1beta4ResourcevalueFile],
};

export const resourcesV1beta4ResourcesFile: ProtoFile = {
  name: "akash/base/resources/v1beta4/resources.proto",
  package: "akash.base.resources.v1beta4",
  messages: {
    Resources: [
      "uint32 id = 1",
      "CPU cpu = 2",
      "Memory memory = 3",
      "repeated Storage storage = 4",
      "GPU gpu = 5",
      "repeated Endpoint endpoints = 6",
    ],
  },
  imports: [
    resourcesV1beta4CpuFile,
    resourcesV1beta4GpuFile,
    resourcesV1beta4MemoryFile,
    resourcesV1beta4StorageFile,
    resourcesV1beta4EndpointFile,
  ],
};

export const cosmosBaseV1beta1CoinFile: ProtoFile = {
  name: "cosmos/base/v1beta1/coin.proto",
  package: "cosmos.base.v1beta1",
  messages: { DecCoin: ["string denom = 1", "string amount = 2"] },
};

export const deploymentV1beta4ResourceunitFile: ProtoFile = {
  name: "akash/deployment/v1beta4/resourceunit.proto",
  package: "akash.deployment.v1beta4",
  messages: {
    ResourceUnit: [
      "akash.base.resources.v1beta4.Resources resource = 1",
      "uint32 count = 2",
      "cosmos.base.v1beta1.DecCoin price = 3",
    ],
  },
  imports: [cosmosBaseV1beta1CoinFile, resourcesV1beta4ResourcesFile],
};

export const deploymentV1beta4GroupspecFile: ProtoFile = {
  name: "akash/deployment/v1beta4/groupspec.proto",
  package: "akash.deployment.v1beta4",
  messages: {
    GroupSpec: [
      "string name = 1",
      "akash.base.attributes.v1.PlacementRequirements requirements = 2",
      "repeated ResourceUnit resources = 3",
    ],
  },
  imports: [attributesV1AttributeFile, deploymentV1beta4ResourceunitFile],
};

export const resourceGeneratedFile: ProtoFile = {
  name: "k8s.io/apimachinery/pkg/api/resource/generated.proto",
  package: "k8s.io.apimachinery.pkg.api.resource",
  messages: { Quantity: ["string string = 1"] },
};

export const inventoryV1ResourcepairFile: ProtoFile = {
  name: "akash/inventory/v1/resourcepair.proto",
  package: "akash.inventory.v1",
  messages: {
    ResourcePair: [
      "k8s.io.apimachinery.pkg.api.resource.Quantity allocatable = 1",
      "k8s.io.apimachinery.pkg.api.resource.Quantity allocated = 2",
      "repeated akash.base.attributes.v1.Attribute attributes = 3",
      "k8s.io.apimachinery.pkg.api.resource.Quantity capacity = 4",
    ],
  },
  imports: [attributesV1AttributeFile, resourceGeneratedFile],
};

export const inventoryV1CpuFile: ProtoFile = {
  name: "akash/inventory/v1/cpu.proto",
  package: "akash.inventory.v1",
  messages: {
    CPUInfo: ["string id = 1", "string vendor = 2", "string model = 3", "uint32 vcores = 4"],
    CPU: ["ResourcePair quantity = 1", "repeated CPUInfo info = 2"],
  },
  imports: [inventoryV1ResourcepairFile],
};

export const inventoryV1GpuFile: ProtoFile = {
  name: "akash/inventory/v1/gpu.proto",
  package: "akash.inventory.v1",
  messages: {
    GPUInfo: [
      "string vendor = 1",
      "string vendor_id = 2",
      "string name = 3",
      "string modelid = 4",
      "string interface = 5",
      "string memory_size = 6",
    ],
    GPU: ["ResourcePair quantity = 1", "repeated GPUInfo info = 2"],
  },
  imports: [inventoryV1ResourcepairFile],
};

export const inventoryV1MemoryFile: ProtoFile = {
  name: "akash/inventory/v1/memory.proto",
  package: "akash.inventory.v1",
  messages: {
    MemoryInfo: ["string vendor = 1", "string type = 2", "string total_size = 3", "string speed = 4"],
    Memory: ["ResourcePair quantity = 1", "repeated MemoryInfo info = 2"],
  },
  imports: [inventoryV1ResourcepairFile],
};

export const inventoryV1ResourcesFile: ProtoFile = {
  name: "akash/inventory/v1/resources.proto",
  package: "akash.inventory.v1",
  messages: {
    NodeResources: [
      "CPU cpu = 1",
      "Memory memory = 2",
      "GPU gpu = 3",
      "ResourcePair ephemeral_storage = 4",
      "ResourcePair volumes_attached = 5",
      "ResourcePair volumes_mounted = 6",
    ],
  },
  imports: [inventoryV1CpuFile, inventoryV1GpuFile, inventoryV1MemoryFile, inventoryV1ResourcepairFile],
};

export const inventoryV1NodeFile: ProtoFile = {
  name: "akash/inventory/v1/node.proto",
  package: "akash.inventory.v1",
  messages: {
    NodeCapabilities: ["repeated string storage_classes = 1"],
    Node: ["string name = 1", "NodeResources resources = 2", "NodeCapabilities capabilities = 3"],
  },
  imports: [inventoryV1ResourcesFile],
};

export const inventoryV1StorageFile: ProtoFile = {
  name: "akash/inventory/v1/storage.proto",
  package: "akash.inventory.v1",
  messages: {
    StorageInfo: ["string class = 1", "string iops = 2"],
    Storage: ["ResourcePair quantity = 1", "StorageInfo info = 2"],
  },
  imports: [inventoryV1ResourcepairFile],
};

export const inventoryV1ClusterFile: ProtoFile = {
  name: "akash/inventory/v1/cluster.proto",
  package: "akash.inventory.v1",
  messages: { Cluster: ["repeated Node nodes = 1", "repeated Storage storage = 2"] },
  imports: [inventoryV1NodeFile, inventoryV1StorageFile],
};

export const inventoryV1ServiceFile: ProtoFile = {
  name: "akash/inventory/v1/service.proto",
  package: "akash.inventory.v1",
  services: {
    NodeRPC: [
      "QueryNode(google.protobuf.Empty) returns (Node)",
      "StreamNode(google.protobuf.Empty) returns (stream Node)",
    ],
    ClusterRPC: [
      "QueryCluster(google.protobuf.Empty) returns (Cluster)",
      "StreamCluster(google.protobuf.Empty) returns (stream Cluster)",
    ],
  },
  imports: [emptyFile, inventoryV1NodeFile, inventoryV1ClusterFile],
};

export const manifestV2beta3HttpoptionsFile: ProtoFile = {
  name: "akash/manifest/v2beta3/httpoptions.proto",
  package: "akash.manifest.v2beta3",
  messages: {
    ServiceExposeHTTPOptions: [
      "uint32 max_body_size = 1",
      "uint32 read_timeout = 2",
      "uint32 send_timeout = 3",
      "uint32 next_tries = 4",
      "uint32 next_timeout = 5",
      "repeated string next_cases = 6",
      "uint32 proxy_buffer_size = 7",
    ],
  },
};

export const manifestV2beta3ServiceexposeFile: ProtoFile = {
  name: "akash/manifest/v2beta3/serviceexpose.proto",
  package: "akash.manifest.v2beta3",
  messages: {
    ServiceExpose: [
      "uint32 port = 1",
      "uint32 external_port = 2",
      "string proto = 3",
      "string service = 4",
      "bool global = 5",
      "repeated string hosts = 6",
      "ServiceExposeHTTPOptions http_options = 7",
      "string ip = 8",
      "uint32 endpoint_sequence_number = 9",
    ],
  },
  imports: [manifestV2beta3HttpoptionsFile],
};

export const manifestV2beta3ServiceFile: ProtoFile = {
  name: "akash/manifest/v2beta3/service.proto",
  package: "akash.manifest.v2beta3",
  messages: {
    StorageParams: ["string name = 1", "string mount = 2", "bool read_only = 3"],
    ServicePermissions: ["repeated string read = 1"],
    TEEParams: ["string type = 1", "bool attestation = 2"],
    ServiceParams: [
      "repeated StorageParams storage = 1",
      "ImageCredentials credentials = 10",
      "ServicePermissions permissions = 11",
      "TEEParams tee = 12",
    ],
    ImageCredentials: ["string host = 1", "string email = 2", "string username = 3", "string password = 4"],
    Service: [
      "string name = 1",
      "string image = 2",
      "repeated string command = 3",
      "repeated string args = 4",
      "repeated string env = 5",
      "akash.base.resources.v1beta4.Resources resources = 6",
      "uint32 count = 7",
      "repeated ServiceExpose expose = 8",
      "ServiceParams params = 9",
      "ImageCredentials credentials = 10",
    ],
  },
  imports: [manifestV2beta3ServiceexposeFile, resourcesV1beta4ResourcesFile],
};

export const manifestV2beta3GroupFile: ProtoFile = {
  name: "akash/manifest/v2beta3/group.proto",
  package: "akash.manifest.v2beta3",
  messages: { Group: ["string name = 1", "repeated Service services = 2"] },
  imports: [manifestV2beta3ServiceFile],
};

export const marketV1LeaseFile: ProtoFile = {
  name: "akash/market/v1/lease.proto",
  package: "akash.market.v1",
  messages: {
    LeaseID: [
      "string owner = 1",
      "uint64 dseq = 2",
      "uint32 gseq = 3",
      "uint32 oseq = 4",
      "string provider = 5",
      "uint32 bseq = 6",
    ],
  },
};

export const marketV1beta5ResourcesofferFile: ProtoFile = {
  name: "akash/market/v1beta5/resourcesoffer.proto",
  package: "akash.market.v1beta5",
  messages: {
    StorageOfferPrice: ["string name = 1", "cosmos.base.v1beta1.DecCoin price = 2"],
    EndpointOfferPrice: [
      "akash.base.resources.v1beta4.Endpoint.Kind kind = 1",
      "cosmos.base.v1beta1.DecCoin price = 2",
    ],
    OfferPrices: [
      "cosmos.base.v1beta1.DecCoin cpu = 2",
      "cosmos.base.v1beta1.DecCoin memory = 3",
      "repeated StorageOfferPrice storage = 4",
      "cosmos.base.v1beta1.DecCoin gpu = 5",
      "repeated EndpointOfferPrice endpoints = 6",
    ],
    ResourceOffer: [
      "akash.base.resources.v1beta4.Resources resources = 1",
      "uint32 count = 2",
      "OfferPrices prices = 3",
    ],
  },
  imports: [cosmosBaseV1beta1CoinFile, resourcesV1beta4ResourcesFile, resourcesV1beta4EndpointFile],
};

export const operatorHostnameV1ServiceFile: ProtoFile = {
  name: "akash/operator/hostname/v1/service.proto",
  package: "akash.operator.hostname.v1",
  messages: {
    Condition: ["string type = 1", "string message = 2", "string status = 3", "string reason = 4"],
    Hostname: [
      "string hostname = 1",
      "akash.market.v1.LeaseID lease_id = 2",
      "string namespace = 3",
      "string service = 4",
      "uint32 external_port = 5",
      "string state = 6",
      "string health = 7",
      "string route = 8",
      "bool endpoints_known = 9",
      "uint32 endpoints_ready = 10",
      "uint32 endpoints_total = 11",
      "repeated Condition conditions = 12",
      "google.protobuf.Timestamp changed_at = 13",
    ],
    StatusRequest: [],
    Status: [
      "string waiting_for = 1",
      "bool leading = 2",
      "string backend = 3",
      "uint32 served = 4",
      "uint32 waiting = 5",
      "uint32 refused = 6",
      "uint32 unhealthy = 7",
    ],
    StateRequest: ["repeated string hostnames = 1"],
    State: ["bool whole = 1", "repeated Hostname hostnames = 2", "repeated string gone = 3", "bool settled = 4"],
  },
  services: {
    HostnameRPC: [
      "GetStatus(StatusRequest) returns (Status)",
      "GetState(StateRequest) returns (State)",
      "StreamState(StateRequest) returns (stream State)",
    ],
  },
  imports: [marketV1LeaseFile, timestampFile],
};

export const operatorIpV1ServiceFile: ProtoFile = {
  name: "akash/operator/ip/v1/service.proto",
  package: "akash.operator.ip.v1",
  messages: {
    PoolUsage: ["string name = 1", "uint64 total = 2", "uint64 in_use = 3", "uint64 free = 4"],
    Usage: ["uint64 total = 1", "uint64 in_use = 2", "uint64 free = 3", "repeated PoolUsage pools = 4"],
    Condition: [
      "string type = 1",
      "string subject = 2",
      "string message = 3",
      "string status = 4",
      "string reason = 5",
    ],
    LeasedPort: [
      "string lease = 1",
      "string namespace = 2",
      "string service = 3",
      "uint32 port = 4",
      "uint32 external_port = 5",
      "string protocol = 6",
      "string sharing_key = 7",
      "string address = 8",
    ],
    State: ["repeated LeasedPort ports = 1", "repeated Condition conditions = 2"],
    Status: [
      "bool leading = 1",
      "string waiting_for = 2",
      "Usage usage = 3",
      "uint64 ports = 4",
      "uint64 pending_ports = 5",
      "uint64 ignored_leases = 6",
      "repeated Condition conditions = 7",
    ],
  },
  services: {
    IpRPC: [
      "GetStatus(google.protobuf.Empty) returns (Status)",
      "GetState(google.protobuf.Empty) returns (State)",
      "GetUsage(google.protobuf.Empty) returns (Usage)",
      "StreamState(google.protobuf.Empty) returns (stream State)",
    ],
  },
  imports: [emptyFile],
};

export const providerLeaseV1ServiceFile: ProtoFile = {
  name: "akash/provider/lease/v1/service.proto",
  package: "akash.provider.lease.v1",
  messages: {
    LeaseServiceStatus: [
      "int32 available = 1",
      "int32 total = 2",
      "repeated string uris = 3",
      "int64 observed_generation = 4",
      "int32 replicas = 5",
      "int32 updated_replicas = 6",
      "int32 ready_replicas = 7",
      "int32 available_replicas = 8",
    ],
    LeaseIPStatus: ["uint32 port = 1", "uint32 external_port = 2", "string protocol = 3", "string ip = 4"],
    ForwarderPortStatus: [
      "string host = 1",
      "uint32 port = 2",
      "uint32 external_port = 3",
      "string proto = 4",
      "string name = 5",
    ],
    ServiceStatus: [
      "string name = 1",
      "LeaseServiceStatus status = 2",
      "repeated ForwarderPortStatus ports = 3",
      "repeated LeaseIPStatus ips = 4",
    ],
    SendManifestRequest: ["akash.market.v1.LeaseID lease_id = 1", "repeated akash.manifest.v2beta3.Group manifest = 2"],
    SendManifestResponse: [],
    ServiceLogsRequest: ["akash.market.v1.LeaseID lease_id = 1", "repeated string services = 2"],
    ServiceLogs: ["string name = 1", "bytes logs = 2"],
    ServiceLogsResponse: ["repeated ServiceLogs services = 1"],
    ShellRequest: ["akash.market.v1.LeaseID lease_id = 1"],
    ServiceStatusRequest: ["akash.market.v1.LeaseID lease_id = 1", "repeated string services = 2"],
    ServiceStatusResponse: ["repeated ServiceStatus services = 1"],
    AttestationQuoteRequest: ["akash.market.v1.LeaseID lease_id = 1", "string nonce = 2", "bool bind_tls = 3"],
    AttestationGPUReport: ["uint32 device_index = 1", "string report = 2"],
    AttestationQuoteResponse: [
      "string report = 1",
      "string cert_chain = 2",
      "string tee_platform = 3",
      "string auxblob = 4",
      "repeated AttestationGPUReport gpu_reports = 5",
      "bool tls_bound = 6",
    ],
  },
  services: {
    LeaseRPC: [
      "SendManifest(SendManifestRequest) returns (SendManifestResponse)",
      "ServiceStatus(ServiceStatusRequest) returns (ServiceStatusResponse)",
      "StreamServiceStatus(ServiceStatusRequest) returns (stream ServiceStatusResponse)",
      "ServiceLogs(ServiceLogsRequest) returns (ServiceLogsResponse)",
      "StreamServiceLogs(ServiceLogsRequest) returns (stream ServiceLogsResponse)",
      "AttestationQuote(AttestationQuoteRequest) returns (AttestationQuoteResponse)",
    ],
  },
  imports: [manifestV2beta3GroupFile, marketV1LeaseFile],
};

export const providerV1StatusFile: ProtoFile = {
  name: "akash/provider/v1/status.proto",
  package: "akash.provider.v1",
  messages: {
    ResourcesMetric: [
      "k8s.io.apimachinery.pkg.api.resource.Quantity cpu = 1",
      "k8s.io.apimachinery.pkg.api.resource.Quantity memory = 2",
      "k8s.io.apimachinery.pkg.api.resource.Quantity gpu = 3",
      "k8s.io.apimachinery.pkg.api.resource.Quantity ephemeral_storage = 4",
      "map<string, k8s.io.apimachinery.pkg.api.resource.Quantity> storage = 5",
    ],
    Leases: ["uint32 active = 1"],
    ReservationsMetric: ["uint32 count = 1", "ResourcesMetric resources = 2"],
    Reservations: ["ReservationsMetric pending = 1", "ReservationsMetric active = 2"],
    Inventory: [
      "akash.inventory.v1.Cluster cluster = 1",
      "Reservations reservations = 2",
      "akash.inventory.v1.ResourcePair leased_ip = 3",
    ],
    ClusterStatus: ["Leases leases = 1", "Inventory inventory = 2"],
    BidEngineStatus: ["uint32 orders = 1"],
    ManifestStatus: ["uint32 deployments = 1"],
    Status: [
      "repeated string errors = 1",
      "ClusterStatus cluster = 2",
      "BidEngineStatus bid_engine = 3",
      "ManifestStatus manifest = 4",
      "repeated string public_hostnames = 5",
      "google.protobuf.Timestamp timestamp = 6",
      "google.protobuf.Duration reclamation_window = 7",
    ],
  },
  imports: [durationFile, timestampFile, inventoryV1ClusterFile, inventoryV1ResourcepairFile, resourceGeneratedFile],
};

export const providerV1ValidationFile: ProtoFile = {
  name: "akash/provider/v1/validation.proto",
  package: "akash.provider.v1",
  messages: {
    BidScreeningRequest: ["akash.deployment.v1beta4.GroupSpec group_spec = 1", "repeated string hostnames = 2"],
    BidScreeningResponse: [
      "bool passed = 1",
      "repeated string reasons = 2",
      "repeated akash.market.v1beta5.ResourceOffer resource_offers = 3",
      "cosmos.base.v1beta1.DecCoin price = 4",
    ],
  },
  imports: [cosmosBaseV1beta1CoinFile, deploymentV1beta4GroupspecFile, marketV1beta5ResourcesofferFile],
};

export const providerV1ServiceFile: ProtoFile = {
  name: "akash/provider/v1/service.proto",
  package: "akash.provider.v1",
  services: {
    ProviderRPC: [
      "GetStatus(google.protobuf.Empty) returns (Status)",
      "StreamStatus(google.protobuf.Empty) returns (stream Status)",
      "BidScreening(BidScreeningRequest) returns (BidScreeningResponse)",
      "ValidateGroupSpec(BidScreeningRequest) returns (BidScreeningResponse)",
    ],
  },
  imports: [emptyFile, providerV1StatusFile, providerV1ValidationFile],
};

export const grpcHealthV1HealthFile: ProtoFile = {
  name: "grpc/health/v1/health.proto",
  package: "grpc.health.v1",
  messages: { HealthCheckRequest: ["string service = 1"], HealthCheckResponse: ["ServingStatus status = 1"] },
  enums: {
    "HealthCheckResponse.ServingStatus": ["UNKNOWN = 0", "SERVING = 1", "NOT_SERVING = 2", "SERVICE_UNKNOWN = 3"],
  },
  services: {
    Health: [
      "Check(HealthCheckRequest) returns (HealthCheckResponse)",
      "Watch(HealthCheckRequest) returns (stream HealthCheckResponse)",
    ],
  },
};

export const grpcReflectionV1ReflectionFile: ProtoFile = {
  name: "grpc/reflection/v1/reflection.proto",
  package: "grpc.reflection.v1",
  messages: {
    ServerReflectionRequest: [
      "string host = 1",
      "string file_by_filename = 3",
      "string file_containing_symbol = 4",
      "ExtensionRequest file_containing_extension = 5",
      "string all_extension_numbers_of_type = 6",
      "string list_services = 7",
    ],
    ExtensionRequest: ["string containing_type = 1", "int32 extension_number = 2"],
    ServerReflectionResponse: [
      "string valid_host = 1",
      "ServerReflectionRequest original_request = 2",
      "FileDescriptorResponse file_descriptor_response = 4",
      "ExtensionNumberResponse all_extension_numbers_response = 5",
      "ListServiceResponse list_services_response = 6",
      "ErrorResponse error_response = 7",
    ],
    FileDescriptorResponse: ["repeated bytes file_descriptor_proto = 1"],
    ExtensionNumberResponse: ["string base_type_name = 1", "int32 extension_number = 2"],
    ListServiceResponse: ["repeated ServiceResponse service = 1"],
    ServiceResponse: ["string name = 1"],
    ErrorResponse: ["int32 error_code = 1", "string error_message = 2"],
  },
  services: {
    ServerReflection: [
      "ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)",
    ],
  },
};

export const grpcReflectionV1alphaReflectionFile: ProtoFile = {
  name: "grpc/reflection/v1alpha/reflection.proto",
  package: "grpc.reflection.v1alpha",
  messages: {
    ServerReflectionRequest: [
      "string host = 1",
      "string file_by_filename = 3",
      "string file_containing_symbol = 4",
      "ExtensionRequest file_containing_extension = 5",
      "string all_extension_numbers_of_type = 6",
      "string list_services = 7",
    ],
    ExtensionRequest: ["string containing_type = 1", "int32 extension_number = 2"],
    ServerReflectionResponse: [
      "string valid_host = 1",
      "ServerReflectionRequest original_request = 2",
      "FileDescriptorResponse file_descriptor_response = 4",
      "ExtensionNumberResponse all_extension_numbers_response = 5",
      "ListServiceResponse list_services_response = 6",
      "ErrorResponse error_response = 7",
    ],
    FileDescriptorResponse: ["repeated bytes file_descriptor_proto = 1"],
    ExtensionNumberResponse: ["string base_type_name = 1", "int32 extension_number = 2"],
    ListServiceResponse: ["repeated ServiceResponse service = 1"],
    ServiceResponse: ["string name = 1"],
    ErrorResponse: ["int32 error_code = 1", "string error_message = 2"],
  },
  services: {
    ServerReflection: [
      "ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)",
    ],
  },
};
