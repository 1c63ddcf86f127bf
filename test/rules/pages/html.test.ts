import t from 'tap'
import { renderDataBlock, renderErrorCode, renderTitle, html } from '../../../src/pages/html.ts'

const nasty = `<script>alert(1)</script> & "quoted" 'single'`

t.test('text in a template stays text', async (t) => {
  const page = html`<p title="${nasty}">${nasty}</p>`.toString()
  t.notMatch(page, '<script>')
  t.equal(page.split('<').length, 3, 'no tags but the template’s own')
  t.match(page, '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;single&#39;')
})

t.test('inserts the output of a template unchanged, lists too', async (t) => {
  const item = (text: string) => html`<i>${text}</i>`
  const items = [item('a'), item('<b>')]
  t.equal(html`<p>${items}</p>`.toString(), '<p><i>a</i><i>&lt;b&gt;</i></p>')
})

t.test('nothing is left by null, undefined and false, and a zero is shown', async (t) => {
  t.equal(html`[${null}${undefined}${false}${0}]`.toString(), '[0]')
})

t.test('escapes an object that only looks like markup', async (t) => {
  const sneaky = { toString: () => '<img src=x onerror=alert(1)>' }
  // A value that slipped past the types, as one parsed from JSON could.
  t.throws(() => html`${sneaky as unknown as string}`.toString())
})

t.test('lines of a title may end behind each of its clauses but the last, and its text stays text', async (t) => {
  t.equal(renderTitle('一个密钥，用上<所有>模型。').toString(), '一个密钥，<wbr />用上&lt;所有&gt;模型。')
  t.equal(renderTitle('One key, every model.').toString(), 'One key, every model.')
})

t.test('lines of an error code may end behind its underscores, and its text stays text', async (t) => {
  t.equal(renderErrorCode('upstream_<b>').toString(), '<code>upstream_<wbr />&lt;b&gt;</code>')
})

t.test('data for scripts cannot end its block', async (t) => {
  const block = renderDataBlock('data', { text: '</script><script>alert(1)</script><!--' }).toString()
  t.equal(block.match(/<\/?script/g)?.length, 2, 'one opening and one closing tag')
  const json = block.slice(block.indexOf('>') + 1, block.lastIndexOf('<'))
  t.same(JSON.parse(json), { text: '</script><script>alert(1)</script><!--' }, 'and it still says the same')
})
