/** The output of `--help`. */
export const USAGE = `Who holds which lock, and who waits for it.

Usage: nestjs-redis-locks <command> [options]

  ls [PATTERN]            all locks that are held; PATTERN is a key, * stands for any text
  inspect KEY             one lock: its holders, and its queue
  watch [PATTERN]         ls, again and again, until Ctrl-C
  release KEY [--force]   frees a lock; while somebody holds it only with --force
  doctor                  looks at the servers, and says what to change for locks

Options:
  -c, --connection WHERE  redis://user:password@host:6379/0 (rediss:// for TLS), or the module's connection as JSON:
                          {"host":"a","port":6379}, {"sentinels":[{"host":"a","port":26379}],"name":"main"}
                          or {"cluster":[{"host":"a","port":6379}],"options":{}}; several times for Redlock.
                          Default: $REDIS_URL, else redis://127.0.0.1:6379
  -p, --prefix PREFIX     the keyPrefix of the module. Default: lock
  -t, --timeout TIME      how long Redis may take to answer, such as 500ms or 5s. Default: 5s
  -i, --interval TIME     watch: how long to wait between two looks. Default: 1s
      --json              for programs
      --no-color          without colours, as with NO_COLOR=1
  -h, --help              this text
  -v, --version           the version of the package

Exit codes: 0 done, 1 Redis failed, 2 wrong arguments, 3 the answer is no (free, refused, or something to change).
`;
