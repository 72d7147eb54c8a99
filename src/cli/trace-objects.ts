// In: a kubeconfig.  Out: the cluster's objects, read once: what the commands use where no files are given.
import { ApiClient } from '../api/client/client.ts';
import { loadApiConfig } from '../api/client/load.ts';
import { silentLog } from '../api/client/log.ts';
import { clusterOf, type Manifest, type OfflineCluster } from './manifests.ts';

const LISTS: Readonly<Record<string, string>> = {
  Service: '/api/v1/services',
  EndpointSlice: '/apis/discovery.k8s.io/v1/endpointslices',
  Node: '/api/v1/nodes',
  ServiceCIDR: '/apis/networking.k8s.io/v1/servicecidrs',
};

export async function clusterFromApi(kubeconfig: string, nodeName: string | undefined): Promise<OfflineCluster> {
  const config = await loadApiConfig({ kubeconfig, master: '', env: process.env, log: silentLog });
  const client = new ApiClient(config, { userAgent: 'portolan', qps: 50, burst: 100, log: silentLog });
  try {
    const manifests: Manifest[] = [];
    for (const [kind, path] of Object.entries(LISTS))
      await client.list({ method: 'GET', path }, (raw) => manifests.push({ kind, raw }));
    return clusterOf(manifests, nodeName);
  } finally {
    client.close();
  }
}
