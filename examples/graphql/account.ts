import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

@ObjectType()
export class Account {
  @Field(() => ID)
  id!: string;

  @Field(() => Int)
  balance!: number;
}
