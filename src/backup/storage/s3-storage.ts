/**
 * Backups in a bucket of an S3-compatible server. aws4fetch signs the requests; undici sends them, because aws4fetch's own `fetch` has no
 * timeout. Large files are sent in parts, which become one file when they are complete.
 */
import { createHash } from 'node:crypto'
import { systemClock } from '../../system/clock.ts'
import { AwsClient } from 'aws4fetch'
import { request } from 'undici'
import type { Dispatcher } from 'undici'
import { OperatorError } from '../../system/operator-error.ts'
import { splitChunks } from '../age-encryption.ts'
import type { BackupSettings, BackupStorage, StoredFile } from './backup-storage.ts'
import '../../system/vendor/undici-fetch.ts'

type BucketSettings = Exclude<BackupSettings['to'], string>

/** One part is in memory. Servers require at least 5 MiB, R2 the same size for all but the last. */
const minPartBytes = 16 * 1024 * 1024
/** Servers accept 10 000; some are left for a file that grew meanwhile. */
const maxParts = 9_000
const attempts = 4
/** Until the answer of a request begins, and between two pieces of it. */
const silenceTimeoutMs = 120_000
/** Pages of a thousand files; a bucket with more is not used for backups alone. */
const maxPages = 100
const maxAnswerBytes = 4 * 1024 * 1024

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly name?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

export class S3Storage implements BackupStorage {
  readonly location: string
  readonly #client: AwsClient
  readonly #bucketUrl: string
  readonly #prefix: string
  readonly #signal: AbortSignal | undefined

  constructor(
    { bucket, endpoint, region, prefix, accessKeyId, secretAccessKey, addressing }: BucketSettings,
    signal?: AbortSignal,
  ) {
    this.#client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' })
    const { protocol, host } = new URL(endpoint)
    this.#bucketUrl = addressing === 'host' ? `${protocol}//${bucket}.${host}` : `${protocol}//${host}/${bucket}`
    this.#prefix = prefix === '' ? '' : `${prefix}/`
    this.location = `s3://${bucket}/${prefix}`
    this.#signal = signal
  }

  async list(): Promise<readonly StoredFile[]> {
    const files: StoredFile[] = []
    let token: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const query = { 'list-type': '2', prefix: this.#prefix, ...(token === undefined ? {} : { 'continuation-token': token }) }
      const answer = await this.#request({ method: 'GET', query })
      for (const [, item = ''] of answer.matchAll(/<Contents>([^]*?)<\/Contents>/g)) {
        const [key, bytes] = [findText(item, 'Key'), Number(findText(item, 'Size'))]
        if (key?.startsWith(this.#prefix) === true) files.push({ name: key.slice(this.#prefix.length), bytes })
      }
      token = findText(answer, 'NextContinuationToken')
      if (token === undefined) return files
    }
    throw new OperatorError(`${this.location} has too many files; use a bucket or prefix for backups alone.`)
  }

  async write(name: string, content: AsyncIterable<Uint8Array>, expectedBytes: number): Promise<number> {
    const partBytes = Math.max(minPartBytes, Math.ceil(expectedBytes / maxParts))
    let uploadId: string | undefined
    let bytes = 0
    const tags: string[] = []
    try {
      for await (const { bytes: part, isLast } of splitChunks(content, partBytes)) {
        bytes += part.length
        if (isLast && uploadId === undefined) {
          await this.#request({ method: 'PUT', name, body: part })
          return bytes
        }
        uploadId ??= findText(await this.#request({ method: 'POST', name, query: { uploads: '' } }), 'UploadId')
        if (uploadId === undefined) throw new OperatorError(`${this.location} started no upload; is it an S3-compatible server?`)
        const query = { partNumber: String(tags.length + 1), uploadId }
        const response = await this.#send({ method: 'PUT', name, query, body: part })
        await response.body.dump()
        tags.push(String(response.headers['etag'] ?? ''))
      }
      const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`).join('')
      const body = Buffer.from(`<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`)
      const answer = await this.#request({ method: 'POST', name, query: { uploadId: uploadId ?? '' }, body })
      // The server sends the status before it joins the parts, so a failure has the status 200.
      if (answer.includes('<Error>')) throw this.#createError({ method: 'POST' }, 200, answer)
      return bytes
    } catch (error) {
      if (uploadId !== undefined) await this.#abortUpload(name, uploadId).catch(() => undefined)
      throw error
    }
  }

  async *read(name: string): AsyncIterable<Uint8Array> {
    const { body } = await this.#send({ method: 'GET', name })
    try {
      for await (const piece of body) yield piece as Uint8Array
    } catch (error) {
      throw new OperatorError(`${this.location} broke off while ${name} was read: ${describeNetworkError(error)}.`, {
        cause: error,
      })
    }
  }

  async remove(name: string): Promise<void> {
    await this.#request({ method: 'DELETE', name })
  }

  async removeUnfinished(before: number): Promise<void> {
    const answer = await this.#request({ method: 'GET', query: { uploads: '', prefix: this.#prefix } })
    for (const [, item = ''] of answer.matchAll(/<Upload>([^]*?)<\/Upload>/g)) {
      const [key, uploadId, startedAt] = [findText(item, 'Key'), findText(item, 'UploadId'), findText(item, 'Initiated')]
      if (key === undefined || uploadId === undefined || !(Date.parse(startedAt ?? '') < before)) continue
      await this.#abortUpload(key.slice(this.#prefix.length), uploadId)
    }
  }

  async #abortUpload(name: string, uploadId: string): Promise<void> {
    await this.#request({ method: 'DELETE', name, query: { uploadId } })
  }

  /** Returns the text of the answer. */
  async #request(s3Request: S3Request): Promise<string> {
    return readText((await this.#send(s3Request)).body)
  }

  async #send(s3Request: S3Request): Promise<Dispatcher.ResponseData> {
    const { method, name, query = {}, body = null } = s3Request
    const path = name === undefined ? '' : `${this.#prefix}${name}`
    const url = `${this.#bucketUrl}/${path}?${new URLSearchParams(query)}`.replace(/\?$/, '')
    // The server compares it with what it received.
    const headers = {
      'x-amz-content-sha256': createHash('sha256')
        .update(body ?? '')
        .digest('hex'),
    }
    const signal = this.#signal === undefined ? {} : { signal: this.#signal }
    for (let attempt = 1; ; attempt++) {
      const signedRequest = await this.#client.sign(url, { method, headers })
      let failure: OperatorError
      try {
        const response = await request(url, {
          method,
          headers: Object.fromEntries(signedRequest.headers),
          body,
          headersTimeout: silenceTimeoutMs,
          bodyTimeout: silenceTimeoutMs,
          ...signal,
        })
        const { statusCode } = response
        if (statusCode >= 200 && statusCode < 300) return response
        failure = this.#createError(s3Request, statusCode, await readText(response.body).catch(() => ''))
        if (statusCode < 500 && statusCode !== 429) throw failure
      } catch (error) {
        if (error instanceof OperatorError) throw error
        this.#signal?.throwIfAborted()
        const { host } = new URL(this.#bucketUrl)
        failure = new OperatorError(`${host} cannot be reached for backups: ${describeNetworkError(error)}.`, { cause: error })
      }
      if (attempt === attempts) throw failure
      await systemClock.wait(250 * 4 ** (attempt - 1), this.#signal)
    }
  }

  /** The server's own message is left out: it may repeat the key. */
  #createError({ method }: Pick<S3Request, 'method'>, status: number, answer: string): OperatorError {
    const code =
      findText(answer, 'Code')
        ?.replaceAll(/[^\w.-]/g, '')
        .slice(0, 64) ?? `status ${status}`
    const verb = method === 'GET' ? 'read' : method === 'DELETE' ? 'changed' : 'written'
    return new OperatorError(`${this.location} cannot be ${verb}: ${describeCode(code, status)}.`)
  }
}

function describeCode(code: string, status: number): string {
  if (/^(?:InvalidAccessKeyId|SignatureDoesNotMatch|InvalidClientTokenId|AuthFailure)$/.test(code))
    return `the credentials are wrong (${code}); correct accessKeyId and secretAccessKey`
  if (/quota|full|insufficientstorage|entitytoolarge/i.test(code) || status === 507)
    return `the bucket is full (${code}); make room or raise its quota`
  if (code === 'NoSuchBucket') return `there is no such bucket (${code}); create it`
  if (code === 'NoSuchKey') return `there is no such file (${code})`
  if (code === 'RequestTimeTooSkewed') return `this machine's clock is wrong (${code}); set it by NTP`
  if (code === 'AccessDenied' || status === 403)
    return `the key has no permission (${code}); it needs to list, read, write and delete there`
  if (status >= 300 && status < 400) return `the server redirects (${code}); correct endpoint and region`
  return code
}

function describeNetworkError(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } }
  const { code = cause?.code } = error as { code?: string }
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return `no answer within ${silenceTimeoutMs / 1000} s`
  return code ?? cause?.message ?? (error instanceof Error ? error.message : String(error))
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > maxAnswerBytes) throw new OperatorError('The server of the bucket sent an answer that is too long.')
    parts.push(piece)
  }
  return Buffer.concat(parts).toString()
}

/** The text of the first element of this name. Keys of backups need no unescaping. */
function findText(xml: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1]
}
