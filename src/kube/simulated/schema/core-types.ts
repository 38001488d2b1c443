/** The other core kinds, as Kubernetes v1.34 has them. Read with notation.ts. */
export const coreTypes = `
Namespace apiVersion?:s kind?:s metadata=:ObjectMeta spec=:NamespaceSpec status=:NamespaceStatus
NamespaceSpec finalizers?:[]s
NamespaceStatus conditions?:[type]NamespaceCondition phase?:s
NamespaceCondition lastTransitionTime=:t message?:s reason?:s status=:s type=:s
Node apiVersion?:s kind?:s metadata=:ObjectMeta spec=:NodeSpec status=:NodeStatus
NodeSpec configSource:NodeConfigSource externalID?:s podCIDR?:s podCIDRs?:[*]s providerID?:s taints?:[]Taint
  unschedulable?:b
NodeConfigSource configMap:ConfigMapNodeConfigSource
ConfigMapNodeConfigSource kubeletConfigKey=:s name=:s namespace=:s resourceVersion?:s uid?:s
Taint effect=:s key=:s timeAdded:t value?:s
NodeStatus addresses?:[type]NodeAddress allocatable?:{}q capacity?:{}q conditions?:[type]NodeCondition
  config:NodeConfigStatus daemonEndpoints=:NodeDaemonEndpoints features:NodeFeatures images?:[]ContainerImage
  nodeInfo=:NodeSystemInfo phase?:s runtimeHandlers?:[]NodeRuntimeHandler volumesAttached?:[]AttachedVolume
  volumesInUse?:[]s
NodeAddress address=:s type=:s
NodeCondition lastHeartbeatTime=:t lastTransitionTime=:t message?:s reason?:s status=:s type=:s
NodeConfigStatus active:NodeConfigSource assigned:NodeConfigSource error?:s lastKnownGood:NodeConfigSource
NodeDaemonEndpoints kubeletEndpoint=:DaemonEndpoint
DaemonEndpoint Port=:i
NodeFeatures supplementalGroupsPolicy:b
ContainerImage names=:[]s sizeBytes?:i
NodeSystemInfo architecture=:s bootID=:s containerRuntimeVersion=:s kernelVersion=:s kubeProxyVersion=:s
  kubeletVersion=:s machineID=:s operatingSystem=:s osImage=:s swap:NodeSwapStatus systemUUID=:s
NodeSwapStatus capacity:i
NodeRuntimeHandler features:NodeRuntimeHandlerFeatures name=:s
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:b userNamespaces:b
AttachedVolume devicePath=:s name=:s
Service apiVersion?:s kind?:s metadata=:ObjectMeta spec=:ServiceSpec status=:ServiceStatus
ServiceSpec allocateLoadBalancerNodePorts:b clusterIP?:s clusterIPs?:[]s externalIPs?:[]s externalName?:s
  externalTrafficPolicy?:s healthCheckNodePort?:i internalTrafficPolicy:s ipFamilies?:[]s ipFamilyPolicy:s
  loadBalancerClass:s loadBalancerIP?:s loadBalancerSourceRanges?:[]s ports?:[port,protocol=TCP]ServicePort
  publishNotReadyAddresses?:b selector?:!{}s sessionAffinity?:s sessionAffinityConfig:SessionAffinityConfig
  trafficDistribution:s type?:s
ServicePort appProtocol:s name?:s nodePort?:i port=:i protocol?:s targetPort=:x
SessionAffinityConfig clientIP:ClientIPConfig
ClientIPConfig timeoutSeconds:i
ServiceStatus conditions?:[type]Condition loadBalancer=:LoadBalancerStatus
Condition lastTransitionTime=:t message=:s observedGeneration?:i reason=:s status=:s type=:s
LoadBalancerStatus ingress?:[]LoadBalancerIngress
LoadBalancerIngress hostname?:s ip?:s ipMode:s ports?:[]PortStatus
PortStatus error:s port=:i protocol=:s
Endpoints apiVersion?:s kind?:s metadata=:ObjectMeta subsets?:[]EndpointSubset
EndpointSubset addresses?:[]EndpointAddress notReadyAddresses?:[]EndpointAddress ports?:[]EndpointPort
!EndpointAddress hostname?:s ip=:s nodeName:s targetRef:ObjectReference
!ObjectReference apiVersion?:s fieldPath?:s kind?:s name?:s namespace?:s resourceVersion?:s uid?:s
!EndpointPort appProtocol:s name?:s port=:i protocol?:s
Secret apiVersion?:s data?:{}s immutable:b kind?:s metadata=:ObjectMeta stringData?:{}s type?:s
ConfigMap apiVersion?:s binaryData?:{}s data?:{}s immutable:b kind?:s metadata=:ObjectMeta
ServiceAccount apiVersion?:s automountServiceAccountToken:b imagePullSecrets?:[]LocalObjectReference kind?:s
  metadata=:ObjectMeta secrets?:[name]ObjectReference
PersistentVolume apiVersion?:s kind?:s metadata=:ObjectMeta spec=:PersistentVolumeSpec status=:PersistentVolumeStatus
PersistentVolumeSpec accessModes?:[]s awsElasticBlockStore:any azureDisk:any azureFile:any capacity?:{}q cephfs:any
  cinder:any claimRef:ObjectReference csi:CSIPersistentVolumeSource fc:any flexVolume:any flocker:any
  gcePersistentDisk:any glusterfs:any hostPath:HostPathVolumeSource iscsi:any local:LocalVolumeSource
  mountOptions?:[]s nfs:NFSVolumeSource nodeAffinity:VolumeNodeAffinity persistentVolumeReclaimPolicy?:s
  photonPersistentDisk:any portworxVolume:any quobyte:any rbd:any scaleIO:any storageClassName?:s storageos:any
  volumeAttributesClassName:s volumeMode:s vsphereVolume:any
CSIPersistentVolumeSource controllerExpandSecretRef:SecretReference controllerPublishSecretRef:SecretReference
  driver=:s fsType?:s nodeExpandSecretRef:SecretReference nodePublishSecretRef:SecretReference
  nodeStageSecretRef:SecretReference readOnly?:b volumeAttributes?:{}s volumeHandle=:s
!SecretReference name?:s namespace?:s
LocalVolumeSource fsType:s path=:s
VolumeNodeAffinity required:NodeSelector
PersistentVolumeStatus lastPhaseTransitionTime:t message?:s phase?:s reason?:s
PersistentVolumeClaim apiVersion?:s kind?:s metadata=:ObjectMeta spec=:PersistentVolumeClaimSpec
  status=:PersistentVolumeClaimStatus
PersistentVolumeClaimStatus accessModes?:[]s allocatedResourceStatuses?:{}s allocatedResources?:{}q capacity?:{}q
  conditions?:[type]PersistentVolumeClaimCondition currentVolumeAttributesClassName:s
  modifyVolumeStatus:ModifyVolumeStatus phase?:s
PersistentVolumeClaimCondition lastProbeTime=:t lastTransitionTime=:t message?:s reason?:s status=:s type=:s
ModifyVolumeStatus status=:s targetVolumeAttributesClassName?:s
`;
