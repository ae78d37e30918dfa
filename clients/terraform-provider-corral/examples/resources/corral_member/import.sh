terraform import corral_member.ada 12
