/** The output of `--help`. */
export const USAGE = `Shows and releases the locks of nestjs-redis-locks.

Usage: nestjs-redis-locks <command> [options]

  ls [PATTERN]            list all locks that are held; PATTERN is a key, in which * matches any text
  inspect KEY             show one lock: its holders and its queue
  watch [PATTERN]         repeat ls until Ctrl-C
  release KEY [--force]   release a lock by force; without --force, only report its holders and the ids of their holds
  doctor                  check the servers, and report what to change for locks

Options:
  -c, --connection WHERE  redis://user:password@host:6379/0 (rediss:// for TLS), or the module's connection as JSON:
                          {"host":"a","port":6379}, {"sentinels":[{"host":"a","port":26379}],"name":"main"}
                          or {"cluster":[{"host":"a","port":6379}],"options":{}}. Repeat the option for Redlock.
                          Default: $REDIS_URL, else redis://127.0.0.1:6379
  -p, --prefix PREFIX     the keyPrefix of the module. Default: lock
  -t, --timeout TIME      how long Redis may take to answer, such as 500ms or 5s. Default: 5s
  -i, --interval TIME     watch: the pause between two updates. Default: 1s
      --hold ID           release: only the hold with this id, as release without --force shows it; the others stay
      --json              write machine-readable output
      --no-color          write no colours, like NO_COLOR=1
  -h, --help              show this text
  -v, --version           show the version of the package

Exit codes: 0 success, 1 Redis failed, 2 invalid arguments, 3 the answer is no (lock free, release refused, problem found).
`;
