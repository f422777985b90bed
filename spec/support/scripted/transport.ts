import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SelfSigned } from '../selfSigned.ts';

/** How an instance is reached. */
export interface TransportOptions {
  /** HTTPS with this certificate. */
  readonly certificate?: SelfSigned;
  /** Cut each connection when a second request comes over it. */
  readonly cutsReusedConnections?: boolean;
}

/** A listening server and the connections that it has. */
export class Transport {
  readonly #server: Server;
  readonly #sockets = new Map<Socket, number>();
  readonly #secure: boolean;
  /** Hosts that were asked for with CONNECT. */
  readonly tunnels: string[] = [];
  /** Port on this machine that tunnels lead to; without it they end here. */
  tunnelPort: number | undefined;

  constructor(answer: RequestListener, { certificate, cutsReusedConnections }: TransportOptions) {
    this.#secure = certificate !== undefined;
    const listener: RequestListener = (request, response) => {
      const requests = (this.#sockets.get(request.socket) ?? 0) + 1;
      this.#sockets.set(request.socket, requests);
      if (cutsReusedConnections === true && requests > 1) request.socket.destroy();
      else answer(request, response);
    };
    this.#server = certificate ? createSecureServer({ key: certificate.key, cert: certificate.certificate }, listener) : createServer(listener);
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
    this.#server.on('connect', (request, socket) => {
      this.tunnels.push(request.url ?? '');
      socket.on('error', () => undefined).write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (this.tunnelPort === undefined) this.#server.emit('connection', socket);
      else tunnel(socket, this.tunnelPort);
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(host = '127.0.0.1'): string {
    return `${this.#secure ? 'https' : 'http'}://${host}:${this.port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  close(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
    this.#server.close();
  }

  #keep(socket: Socket): void {
    socket.setNoDelay(true);
    this.#sockets.set(socket, this.#sockets.get(socket) ?? 0);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

function tunnel(socket: Duplex, port: number): void {
  const onward = connect(port, '127.0.0.1').on('error', () => socket.destroy());
  socket.pipe(onward).pipe(socket);
  socket.on('close', () => onward.destroy());
}
