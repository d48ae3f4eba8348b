import { Controller, Module } from '@nestjs/common';
import { ClientsModule, MessagePattern, Payload, Transport, type RedisOptions } from '@nestjs/microservices';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS, Reports } from './reports.js';

export const TRANSPORT: RedisOptions = { transport: Transport.REDIS, options: REDIS };

@Controller()
class ReportsController {
  constructor(private readonly reports: Reports) {}

  @MessagePattern('report')
  write(@Payload() id: string): Promise<string> {
    return this.reports.write(id);
  }
}

/** The transport opens its own connections: both get the same options. */
@Module({
  imports: [
    ClientsModule.register([{ name: 'REPORTS', ...TRANSPORT }]),
    RedisLockModule.forRoot({ connection: REDIS }),
  ],
  controllers: [ReportsController],
  providers: [Reports],
})
export class MicroservicesModule {}
