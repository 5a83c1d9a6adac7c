// Accept headers: which clients prefer HTML.

import t from 'tap'
import { prefersHtml } from '../../../src/edge/http/parse.ts'

t.test('accept: of browsers: HTML', async (t) => {
  for (const accept of [
    'text/html',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'text/html, application/xhtml+xml, image/jxr, */*',
    '*/*,text/html',
    'text/plain;q=0.9, text/html',
    'text/html;q=0.5, application/json',
    'text/html;charset=utf-8;q=0.1',
  ]) {
    t.ok(prefersHtml(accept), accept)
  }
})

t.test('accept: of programs, or without an opinion: no HTML', async (t) => {
  for (const accept of [
    '',
    '*/*',
    'text/*',
    'application/json',
    'application/xhtml+xml',
    'text/html;q=0',
    'text/html;q=0.0, */*',
    'text/html;q=none',
    'text/plain, text/html;q=0.9',
    'xtext/html',
    'text/htmls',
  ]) {
    t.notOk(prefersHtml(accept), accept)
  }
})
