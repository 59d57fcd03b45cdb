import { createServer } from 'node:net';

/**
 * Returns ports of the loopback interface that are free now. Another process may take one before its use: the caller
 * then retries with other ports.
 */
export async function freePorts(count: number): Promise<number[]> {
  // All ports stay open until the last is found, so that no port is returned twice.
  const servers = Array.from({ length: count }, () => createServer());
  try {
    return await Promise.all(servers.map(listen));
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function listen(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('a TCP server has no port'));
      else resolve(address.port);
    });
  });
}
