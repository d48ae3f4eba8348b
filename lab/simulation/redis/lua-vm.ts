import wasmoon from 'wasmoon-lua5.1';

const REGISTRY = wasmoon.LUA_REGISTRYINDEX;
/** Bytes that the arguments of one call may have together. */
const ROOM = 4_000_000;
const ALL_LIBRARIES = '_luaL_openlibs';

/** The functions of the Lua API that are called, and the memory of the virtual machine. */
interface Api {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  _malloc(bytes: number): number;
  _luaL_newstate(): number;
  [ALL_LIBRARIES](state: number): void;
  _luaL_loadbuffer(state: number, text: number, size: number, name: number): number;
  _luaL_ref(state: number, table: number): number;
  _lua_rawgeti(state: number, table: number, place: number): void;
  _lua_getfield(state: number, table: number, name: number): void;
  _lua_pushnumber(state: number, value: number): void;
  _lua_pushlstring(state: number, text: number, size: number): void;
  _lua_tolstring(state: number, place: number, size: number): number;
  _lua_pcall(state: number, args: number, results: number, handler: number): number;
  _lua_settop(state: number, size: number): void;
  _lua_checkstack(state: number, size: number): number;
}

/** A Lua 5.1 whose functions take texts and numbers, and return texts. Texts are UTF-8 there, and bytes when they return. */
export class LuaVm {
  private readonly api: Api;
  private readonly state: number;
  private readonly room: number;
  private readonly size: number;
  private readonly functions = new Map<string, number>();
  private bytes: Buffer;

  /** `source` returns a table of functions. */
  static async start(source: string): Promise<LuaVm> {
    const api = (await wasmoon.LuaApi.initialize()) as { readonly module: unknown };
    return new LuaVm(api.module as Api, source);
  }

  private constructor(api: Api, source: string) {
    this.api = api;
    this.bytes = Buffer.from(api.HEAPU8.buffer);
    this.state = api._luaL_newstate();
    api[ALL_LIBRARIES](this.state);
    this.room = api._malloc(ROOM);
    this.size = api._malloc(4);
    const length = this.write(source, 0);
    const name = length + 1;
    this.write('=redis\0', name);
    this.check(api._luaL_loadbuffer(this.state, this.room, length, this.room + name));
    this.check(api._lua_pcall(this.state, 0, 1, 0));
    for (const each of source.matchAll(/^ {2}(\w+) = function\(/gm)) this.remember(each[1]!);
    api._lua_settop(this.state, 0);
  }

  /** Returns the texts that a function returns: three at most. Each character is one byte. */
  call(name: string, ...args: ReadonlyArray<string | number>): Array<string | undefined> {
    const { api, state } = this;
    api._lua_checkstack(state, args.length + 4);
    api._lua_rawgeti(state, REGISTRY, this.functions.get(name)!);
    for (const arg of args) {
      if (typeof arg === 'number') api._lua_pushnumber(state, arg);
      else api._lua_pushlstring(state, this.room, this.write(arg, 0));
    }
    this.check(api._lua_pcall(state, args.length, 3, 0));
    const results = [this.read(-3), this.read(-2), this.read(-1)];
    api._lua_settop(state, 0);
    return results;
  }

  private remember(name: string): void {
    this.write(`${name}\0`, 0);
    this.api._lua_getfield(this.state, 1, this.room);
    this.functions.set(name, this.api._luaL_ref(this.state, REGISTRY));
  }

  private check(code: number): void {
    if (code === 0) return;
    const message = this.read(-1);
    this.api._lua_settop(this.state, 0);
    throw new Error(`the simulated Redis has failed: ${message}`);
  }

  private write(text: string, at: number): number {
    return this.memory.write(text, this.room + at, ROOM - at);
  }

  private read(place: number): string | undefined {
    const text = this.api._lua_tolstring(this.state, place, this.size);
    if (text === 0) return undefined;
    const size = this.memory.readUInt32LE(this.size);
    return this.memory.toString('latin1', text, text + size);
  }

  /** The memory moves when it grows. */
  private get memory(): Buffer {
    if (this.bytes.length === 0) this.bytes = Buffer.from(this.api.HEAPU8.buffer);
    return this.bytes;
  }
}
