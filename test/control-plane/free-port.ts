import { createServer } from 'node:net';

/**
 * Ports of the loopback interface that nothing listens on at the moment. Somebody else may take one before it is used:
 * whoever starts a server on it tries again with others.
 */
export async function freePorts(count: number): Promise<number[]> {
  // All are held until the last is found, so that none is handed out twice.
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
