/** Which strings of a request are addresses that a model server may fetch. */
import t from 'tap'
import { findMediaAddresses, maxAddressLength, maxMediaAddresses } from '../../../../src/exchange/request/media-addresses.ts'

const find = (...parts: readonly unknown[]) => findMediaAddresses({ messages: [{ role: 'user', content: parts }] })

t.test('finds the address of a part of any kind, however it is written', (t) => {
  const address = 'http://127.0.0.1:9/x'
  for (const part of [
    { type: 'image_url', image_url: { url: address } },
    { type: 'image_url', image_url: address },
    { type: 'video_url', video_url: { url: address } },
    { type: 'audio_url', audio_url: { url: address } },
    { type: 'input_audio', input_audio: { data: address, format: 'wav' } },
    { type: 'input_image', image_url: address },
    { type: 'input_file', file_url: address },
    { type: 'file', file: { file_data: address, filename: 'a.pdf' } },
    { type: 'file', file: { url: address } },
    { type: 'image', source: { type: 'url', url: address } },
    { type: 'image', image: address },
    { type: 'video', video: [address] },
    { type: 'unknown', deep: [{ deeper: { deepest: address } }] },
  ])
    t.same(find({ type: 'text', text: 'x' }, part), [address], JSON.stringify(part))
  t.same(
    findMediaAddresses({
      messages: [{ role: 'tool', tool_call_id: 'a', content: [{ type: 'image_url', image_url: { url: address } }] }],
    }),
    [address],
    'in the result of a tool',
  )
  for (const image of [{ type: 'image_url', image_url: { url: address } }, address])
    t.same(
      findMediaAddresses({ messages: [{ role: 'assistant', content: '', images: [image] }] }),
      [address],
      'beside the content',
    )
  const picture = { type: 'image_url', image_url: { url: address } }
  for (const message of [
    { Content: [picture] },
    { content: 'x', Images: [address] },
    { content: 'x', 'image\u017f': [address] },
    { content: 'x', images: { 0: address } },
    { content: 'x', image: address },
    { content: 'x', files: [{ url: address }] },
    { content: [{ type: 'text', text: 'x', image_url: { url: address } }] },
    { content: [{ type: 'text', Type: 'image_url', text: 'x', Image_URL: address }] },
    { content: [{ type: 'file', file: { file_data: address } }] },
    { content: 'x', reasoning_content: [picture] },
    { content: 'x', reasoning: [picture] },
    { content: 'x', reasoning_details: [picture] },
    { content: 'x', refusal: [picture] },
    { content: 'x', name: [picture] },
    { content: 'x', unknown: { parts: [picture] } },
    { content: 'x', Annotations: [picture] },
  ])
    t.same(findMediaAddresses({ messages: [{ role: 'user', ...message }] }), [address], JSON.stringify(message))
  const padded = `${' '.repeat(100)}${address}`
  t.same(find({ type: 'file', file: { file_data: padded } }), [padded], 'behind many blanks')
  for (const odd of [
    ' http://127.0.0.1/',
    '\u0000\thttp://127.0.0.1/',
    'HTTP://127.0.0.1/',
    'file:///etc/passwd',
    'FILE:/etc/passwd',
    'ftp://10.0.0.1/',
    'gopher://10.0.0.1/',
    '/etc/passwd',
    '../etc/passwd',
    '//127.0.0.1/',
    'www.example.com/a.png',
  ])
    t.same(find({ type: 'image_url', image_url: { url: odd } }), [odd], odd)
  t.end()
})

t.test('takes texts and contents for no addresses', (t) => {
  for (const part of [
    { type: 'text', text: 'http://127.0.0.1/' },
    { type: 'refusal', refusal: 'https://example.com' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
    { type: 'image_url', image_url: { url: ' DATA:image/png;base64,iVBORw0KGgo=' } },
    { type: 'input_audio', input_audio: { data: '//uQxAAAAAAAAAAAAAAA', format: 'mp3' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'http://a.pdf' } },
    { type: 'file', file: { file_data: 'JVBERi0=', filename: 'C:\\a.pdf' } },
  ])
    t.same(find(part), [], JSON.stringify(part))
  const url = 'https://example.com'
  const answer = { role: 'assistant', content: url, annotations: [{ type: 'url_citation', url_citation: { url } }] }
  const call = { id: 'a', type: 'function', function: { name: 'open', arguments: url } }
  t.same(findMediaAddresses({ messages: [{ ...answer, tool_calls: [call], reasoning_details: [{ summary: url }] }] }), [])
  t.same(findMediaAddresses({ messages: [{ role: 'user', content: 'see http://127.0.0.1/' }, null, 1] }), [])
  t.end()
})

t.test('names each address once, and neither more nor longer ones than are examined', (t) => {
  const part = (url: string) => ({ type: 'image_url', image_url: { url } })
  t.equal(find(...Array.from({ length: 50 }, () => part('https://a.example/'))).length, 1)
  t.equal(find(...Array.from({ length: 5_000 }, (_, i) => part(`https://a.example/${i}`))).length, maxMediaAddresses + 1)
  t.equal(find({ type: 'x', list: Array.from({ length: 5_000 }, (_, i) => `http://a/${i}`) }).length, maxMediaAddresses + 1)
  t.equal(find(part(`https://a.example/${'x'.repeat(1_000_000)}`))[0]?.length, maxAddressLength + 1)
  t.end()
})
