/**
 * The scripts of pages in the oldest browsers that they are built for: Safari 16.4, Firefox ESR 128 and Chrome 111. The bundler rewrites
 * newer syntax and not newer APIs, and a library may use one as well as a page.
 */
import t from 'tap'
import { bundleAssets } from '../../../../src/pages/bundle-assets.ts'
import { findNewerApis } from '../../../support/website/newer-apis.ts'

t.test('no script of a page uses an API that one of the oldest browsers lacks', async (t) => {
  const scripts = bundleAssets()
  t.ok(scripts.size > 8, `${scripts.size} scripts`)
  for (const [name, script] of scripts) t.same(findNewerApis(script.toString()), [], name)
})

t.test('finds newer APIs in minified text, and no property that only resembles one', async (t) => {
  for (const [script, name] of [
    ['let a=URL.canParse(b)', 'URL.canParse'],
    ['return(0,Object.groupBy)(a,b)', 'Object.groupBy'],
    ['let{promise:a}=Promise.withResolvers()', 'Promise.withResolvers'],
    ['a.signal=AbortSignal.any([b,c])', 'AbortSignal.any'],
    ['new URLSearchParams(a).size', 'URLSearchParams.size'],
    ['document.startViewTransition(()=>b())', 'document.startViewTransition'],
    ['a.showPopover()', '.showPopover('],
    ['new RegExp("[a--b]","v")', 'RegExp flag v'],
    ['let a=/[a--b]/v.test(b)', 'RegExp flag v'],
    ['for await(let a of b.body)c(a)', 'for await over a stream'],
    ['a.isSubsetOf(b)', '.isSubsetOf('],
  ] as const)
    t.same(findNewerApis(script), [name], script)
  t.same(findNewerApis('a.URL.canParser;Promise.all();x.groupBy;"/v1";new RegExp("a","u");for await(let a of b())c(a)'), [])
})
