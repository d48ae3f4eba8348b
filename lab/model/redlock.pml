/*
 * Several independent masters, one key: a hold of a majority is held. Masters restart empty; requests are late, lost,
 * or executed twice. The queues of the masters are not modelled: any client that asks a free master may get it, which
 * allows more than any order of queues. The counterparts in the code, the bounds and the omissions: README.md.
 *
 * Time is relative: every clock is a count of ticks that are left, or that have gone by.
 *
 * checks.mjs gives the QUORUM, and at most how many RENEWALS of each hold there are, RESTARTS of masters that have lost their
 * data (DELAY ticks later), YIELDS (grants of a minority that are given to the queue of their master), and how many copies of
 * such a request arrive once more, LATE.
 */
#define CLIENTS 2
#define MASTERS 3
#define ROUNDS 1            /* acquisitions of each client */
#define LEASE 2
#define AGAIN 1             /* questions after a refusal, of all clients together */

#define SEATS (CLIENTS * MASTERS)
#define FREE 255
#define down(x) x = (x > 0 -> x - 1 : 0)
#define seatOf(c, m) ((c) * MASTERS + (m))
#define idOf(c) ((c) + CLIENTS * (round[c] - 1))

mtype:phase = { idle, trying, holding };
mtype:request = { nothing, ask, yield, renew, drop };

/* The masters: the holder there, for how long yet, and for how long the master is away. */
byte holder[MASTERS], left[MASTERS], away[MASTERS];

/* The request under way between a client and a master, one at a time; a newer one takes the place of a lost one. */
mtype:request kind[SEATS];
bool answered[SEATS];
byte age[SEATS];            /* ticks since it was sent */
byte lease[SEATS];          /* the answer: ticks left when it was executed, 0: not held */
byte dropped[SEATS];        /* the client whose hold a drop releases */
bool late[SEATS];

/* The clients. */
mtype:phase phase[CLIENTS];
byte round[CLIENTS], renewals[CLIENTS], valid[CLIENTS];
byte until[SEATS];          /* ticks for which the client counts on this master */

byte restarts = RESTARTS, again = AGAIN, yields = YIELDS, copies = LATE;
byte i, n;                  /* of atomic steps */

/* ---- how a client interprets the answers ---- */

#define has(c, m) (until[seatOf(c, m)] >= n -> 1 : 0)
#define standing(c) (has(c, 0) + has(c, 1) + has(c, 2))

/* For how long a majority has it: n becomes the QUORUM-th largest of the remaining times of the masters. */
inline majority(c) {
  n = LEASE;
  do
  :: n == 0 -> break
  :: n > 0 && standing(c) >= QUORUM -> break
  :: else -> n--
  od
}

inline send(s, what) { kind[s] = what; age[s] = 0; until[s] = 0 }

inline forget(s) { kind[s] = nothing; age[s] = 0; answered[s] = false; lease[s] = 0 }

inline believe(c) {
  for (i : 0 .. CLIENTS - 1) { assert(i == c || valid[i] == 0) }    /* mutual exclusion */
  phase[c] = holding;
  valid[c] = n;
  for (i : 0 .. MASTERS - 1) { until[seatOf(c, i)] = 0; forget(seatOf(c, i)) }
  i = 0
}

/* Until when, counted from the sending of the question. */
#ifdef VALID_FROM_ANSWER
#define leaseOf(s) lease[s]
#else
#define leaseOf(s) (lease[s] > age[s] -> lease[s] - age[s] : 0)
#endif

inline hear(c, s) {
  until[s] = leaseOf(s);
  forget(s);
  majority(c);
  if
  :: phase[c] == trying && n > 0 -> believe(c)
  :: phase[c] == holding && valid[c] > 0 && n > valid[c] -> valid[c] = n
  :: else
  fi;
  n = 0
}

/* ---- the masters ---- */

inline take(m, who) { holder[m] = who; left[m] = LEASE }

inline free(m) { holder[m] = FREE; left[m] = 0 }

/* An answer that is slow on its way back makes a belief begin later, and end no later: most runs have none. */
inline answer(c, s, ticks) {
  lease[s] = ticks;
#ifdef SLOW_ANSWERS
  answered[s] = true
#else
  hear(c, s)
#endif
}

inline execute(c, m, s) {
  if
  :: kind[s] == ask && (holder[m] == FREE || holder[m] == idOf(c)) -> take(m, idOf(c)); answer(c, s, LEASE)
  :: kind[s] == renew && holder[m] == idOf(c) -> left[m] = LEASE; answer(c, s, LEASE)
  :: (kind[s] == ask && holder[m] != FREE || kind[s] == renew) && holder[m] != idOf(c) -> answer(c, s, 0)
#if YIELDS > 0
  :: kind[s] == yield ->    /* its queue gives it back to the same client, or has others */
    if :: holder[m] == idOf(c) -> free(m) :: else fi;
    if
    :: holder[m] == FREE -> take(m, idOf(c)); answer(c, s, LEASE)
    :: true -> answer(c, s, 0)
    fi
#endif
  :: kind[s] == drop ->
    if :: holder[m] == dropped[s] -> free(m) :: else fi;
    forget(s);
    dropped[s] = 0
  fi
}

proctype Wire(byte c, m, s) {
end:
  do
  :: atomic { kind[s] != nothing && !answered[s] && away[m] == 0 -> execute(c, m, s) }
#ifdef SLOW_ANSWERS
  :: d_step { answered[s] -> hear(c, s) }
#endif
#if LATE > 0
  :: d_step { late[s] && away[m] == 0 -> late[s] = false; if :: phase[c] != idle && holder[m] == idOf(c) -> free(m) :: else fi }
#endif
  /* A client that got nothing here, or has nothing any more, asks again. */
  :: d_step { phase[c] == trying && kind[s] == nothing && until[s] == 0 && again > 0 -> again--; send(s, ask) }
#if YIELDS > 0
  :: atomic {
      phase[c] == trying && kind[s] == nothing && until[s] > 0 && yields > 0 ->
      yields--;
      send(s, yield);
      if :: copies > 0 -> copies--; late[s] = true :: true fi
    }
#endif
  od
}

/* ---- the clients ---- */

/* A message on its way may still arrive: it is followed by the drop, and has no effect then. */
inline giveBack(c) {
  for (i : 0 .. MASTERS - 1) {
    forget(seatOf(c, i));
    until[seatOf(c, i)] = 0;
    late[seatOf(c, i)] = false;
    if
    :: holder[i] == idOf(c) -> kind[seatOf(c, i)] = drop; dropped[seatOf(c, i)] = idOf(c)
    :: else
    fi
  }
  i = 0;
  phase[c] = idle;
  valid[c] = 0;
  renewals[c] = 0
}

proctype Client(byte c) {
end:
  do
  :: d_step {
      phase[c] == idle && round[c] < ROUNDS ->
      round[c]++;
      phase[c] = trying;
      for (i : 0 .. MASTERS - 1) { dropped[seatOf(c, i)] = 0; send(seatOf(c, i), ask) }
      i = 0
    }
  :: d_step {
      phase[c] == holding && valid[c] > 0 && renewals[c] < RENEWALS ->
      renewals[c]++;
      for (i : 0 .. MASTERS - 1) { send(seatOf(c, i), renew) }
      i = 0
    }
  :: d_step { phase[c] != idle -> giveBack(c) }
  od
}

/* ---- restarts and time ---- */

proctype Restarts(byte m) {
end:
  do
  :: d_step { restarts > 0 && away[m] == 0 -> restarts--; free(m); away[m] = DELAY }
  od
}

proctype Time() {
end:
  do
  :: d_step {
      true ->
      for (i : 0 .. MASTERS - 1) {
        down(left[i]); down(away[i]);
        if :: left[i] == 0 -> holder[i] = FREE :: else fi
      }
      for (i : 0 .. CLIENTS - 1) { down(valid[i]) }
      for (i : 0 .. SEATS - 1) {
        down(until[i]);
        if
        :: kind[i] != nothing && kind[i] != drop && age[i] < LEASE -> age[i]++
        :: kind[i] == drop && holder[i % MASTERS] != dropped[i] -> forget(i); dropped[i] = 0    /* nothing to release */
        :: else
        fi
      }
      i = 0
    }
  od
}

init {
  atomic {
    for (i : 0 .. MASTERS - 1) { holder[i] = FREE };
    for (i : 0 .. SEATS - 1) { kind[i] = nothing };
    for (i : 0 .. CLIENTS - 1) { phase[i] = idle };
    run Time();
    for (i : 0 .. MASTERS - 1) { run Restarts(i) };
    for (n : 0 .. CLIENTS - 1) {
      run Client(n);
      for (i : 0 .. MASTERS - 1) { run Wire(n, i, seatOf(n, i)) }
    };
    i = 0;
    n = 0
  }
}
