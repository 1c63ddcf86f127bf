/** The package ships no types; these are the parts that the tests use. */
declare module 'smtp-server' {
  import type { AddressInfo, Socket } from 'node:net'
  import type { Readable } from 'node:stream'

  export interface Session {
    readonly envelope: {
      readonly mailFrom: { readonly address: string }
      readonly rcptTo: readonly { readonly address: string }[]
    }
  }

  export class SMTPServer {
    readonly server: { address(): AddressInfo; on(event: 'connection', listener: (socket: Socket) => void): void }
    constructor(options: {
      readonly authOptional?: boolean
      readonly disabledCommands?: readonly string[]
      readonly closeTimeout?: number
      readonly logger?: boolean
      readonly allowInsecureAuth?: boolean
      onAuth?(
        auth: { readonly username?: string; readonly password?: string },
        session: Session,
        done: (error: Error | null, signedIn?: { readonly user: string }) => void,
      ): void
      onData(stream: Readable, session: Session, done: (error?: Error | null) => void): void
    })
    listen(port: number, host: string, done: () => void): void
    on(event: 'error', listener: (error: Error) => void): void
    close(done: () => void): void
  }
}
